"""`sgltui preset remove`."""

from __future__ import annotations

import argparse

from tui.cli.confirm import confirm
from tui.cli.context import open_context
from tui.cli.say import say
from tui.errors import ExitCode
from tui.presets.library import find_preset_file
from tui.presets.store import check_removable, remove


def remove_preset(options: argparse.Namespace) -> ExitCode:
    """Take a preset away; broken ones can be removed, too."""
    context = open_context(options)
    path = find_preset_file(context.places, options.preset)
    check_removable(path)
    confirm(f"Remove {path}?", yes=options.yes, about=f"{path} may be removed")
    kept = remove(path)
    say(f"removed {path}; what it said is kept as {kept.name}")
    return ExitCode.DONE
