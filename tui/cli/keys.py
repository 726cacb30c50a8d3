"""`sgltui keys`: every command of the UI with its keys, as TOML that can stand in `config.toml`."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from tui.cli.context import print_json
from tui.errors import ExitCode
from tui.paths import find_places
from tui.settings import load_settings

if TYPE_CHECKING:
    from tui.app.key_list import KeyRow


def keys(options: argparse.Namespace) -> ExitCode:
    """Print the keys in force."""
    places = find_places()
    # Here: Textual, which names the keys, takes a while to import.
    from tui.app.key_list import key_rows  # noqa: PLC0415

    rows = key_rows(load_settings(places), places.settings_file)
    if options.json:
        print_json([row.as_json() for row in rows])
        return ExitCode.DONE
    print(f"# Keys of the UI, for {places.settings_file}; only what differs needs to stand there.")
    table: str | None = ""
    for row in sorted(rows, key=lambda one: one.table):
        if row.table != table:
            print(f"\n[{row.table}]")
            table = row.table
        print(_line(row))
    return ExitCode.DONE


def _line(row: KeyRow) -> str:
    words = [json.dumps(key) for key in row.keys]  # a TOML text is a JSON text, for all that a key can be
    return f"{row.name} = {words[0] if len(words) == 1 else '[' + ', '.join(words) + ']'}".ljust(44) + f"  # {row.help}"
