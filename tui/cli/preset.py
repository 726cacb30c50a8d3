"""`sgltui preset list` and `sgltui preset show`."""

from __future__ import annotations

import argparse

from tui.cli.context import open_context, print_table
from tui.cli.say import say
from tui.errors import ExitCode
from tui.presets import dump_preset, find_preset, load_presets

_HEADER = ("NAME", "MODEL", "EVIDENCE", "DESCRIPTION")


def list_presets(options: argparse.Namespace) -> ExitCode:
    """List all presets; a broken one is told on stderr, gives status 1, and doesn't hide the others."""
    presets = load_presets(open_context(options).places)
    rows = [
        (preset.name, preset.model, preset.evidence.status if preset.evidence else "untested", preset.description)
        for preset in presets.presets
    ]
    print_table(_HEADER, rows)
    for problem in presets.problems:
        say(problem.message)
    return ExitCode.FAILED if presets.problems else ExitCode.DONE


def show_preset(options: argparse.Namespace) -> ExitCode:
    """Print a preset as TOML; where it comes from goes to stderr."""
    preset = find_preset(open_context(options).places, options.preset)
    print(dump_preset(preset), end="")
    if preset.path is not None:
        say(f"from {preset.path}")
    return ExitCode.DONE
