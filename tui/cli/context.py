"""What every command starts from: the folders, the settings, the GPUs, and ways to print."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct

from tui.gpu import GpuReader
from tui.gpu.open import open_reader
from tui.observe import Observer
from tui.paths import Places, find_places
from tui.settings import Settings, load_settings
from tui.text import printable


class Context(Struct, frozen=True):
    """One run of the command line."""

    places: Places
    settings: Settings
    reader: GpuReader

    @property
    def observer(self) -> Observer:
        """A fresh look at this machine."""
        return Observer(self.places, self.reader)


def open_context(options: argparse.Namespace) -> Context:
    """The context of a command.

    Raises:
        UsageError: the settings file is broken.
    """
    places = find_places(project_presets=getattr(options, "presets", None))
    return Context(places, load_settings(places), open_reader(places))


def print_json(value: Any) -> None:
    """One JSON document on stdout; where that can't take a character, it is written as an escape."""
    text = json.dumps(value, ensure_ascii=False, indent=2)
    try:
        text.encode(sys.stdout.encoding)
    except UnicodeEncodeError:  # names of files and processes may be no text at all
        text = json.dumps(value, indent=2)
    print(text)


def print_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Columns as wide as their widest cell, two blanks apart; on a terminal no line is longer than it is wide."""
    table = [list(header), *([printable(cell) for cell in row] for row in rows)]
    widths = [max(len(row[column]) for row in table) for column in range(len(header))]
    limit = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for row in table:
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        print(line if limit is None or len(line) <= limit else f"{line[: limit - 1]}…")
