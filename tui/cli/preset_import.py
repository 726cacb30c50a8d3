"""`sgltui preset import`: a pasted command line, or a running server's, as a preset. Nothing in it is run."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tui.cli.context import Context, open_context
from tui.cli.saving import save_draft
from tui.cli.say import say
from tui.errors import ExitCode, UsageError
from tui.launch.takeover import import_running
from tui.paths import expand_user
from tui.presets import dump_preset
from tui.presets.importing import Imported, import_command
from tui.presets.store import draft

_MAX_BYTES = 1 << 20
_LEADS = {"changed": "", "unclear": "look at this: ", "lost": "not kept: "}


def import_preset(options: argparse.Namespace) -> ExitCode:
    """Print the preset, say what isn't in it, and save it."""
    context = open_context(options)
    imported = _import(context, options)
    print(dump_preset(imported.preset), end="")
    for remark in imported.remarks:
        say(f"{_LEADS[remark.kind]}{remark.text}")
    if not options.dry_run:
        save_draft(draft(context.places, imported.preset), yes=options.yes)
    return ExitCode.DONE


def _import(context: Context, options: argparse.Namespace) -> Imported:
    if options.pid is not None:
        if options.file != "-":
            raise UsageError("give either a file or --pid", "import them one after the other")
        return import_running(context.places, options.pid, context.reader.read(), options.name)
    return import_command(_read(options.file), options.name, options.nth)


def _read(file: str) -> str:
    """What was pasted.

    Raises:
        UsageError: it isn't text, or there is no such file.
    """
    if file == "-" and sys.stdin.isatty():
        say("paste the command line, then press ctrl-d on a line of its own")
    try:
        data = sys.stdin.buffer.read(_MAX_BYTES) if file == "-" else _read_file(expand_user(file))
    except OSError as error:
        raise UsageError(f"{file} can't be read: {error.strerror}") from error
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError(f"{'that' if file == '-' else file} isn't UTF-8 text", "save it as UTF-8") from None


def _read_file(path: Path) -> bytes:
    if path.exists() and not path.is_file():  # a FIFO would be waited for for ever
        raise UsageError(f"{path} is no file")
    with path.open("rb") as opened:
        return opened.read(_MAX_BYTES)
