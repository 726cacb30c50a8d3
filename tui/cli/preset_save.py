"""`sgltui preset save`: a launch that worked, kept with its proof."""

from __future__ import annotations

import argparse

from tui.cli.context import open_context
from tui.cli.saving import save_draft
from tui.cli.say import say
from tui.errors import ExitCode
from tui.launch.preset_saving import draft_preset, pin_evidence
from tui.presets import dump_preset


def save_preset(options: argparse.Namespace) -> ExitCode:
    """Save a running or past launch as a preset; the launch is kept as its evidence."""
    context = open_context(options)
    plan = draft_preset(context.places, options.source, options.name, context.reader.read())
    save_draft(plan.file, yes=options.yes)
    pin_evidence(context.places, plan)
    print(dump_preset(plan.proven.preset), end="")
    for note in plan.proven.notes:
        say(note)
    return ExitCode.DONE
