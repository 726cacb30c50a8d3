"""`sgltui preset save`: a launch that worked, kept with its proof."""

from __future__ import annotations

import argparse

from tui.cli.context import open_context
from tui.cli.saving import save_draft
from tui.cli.say import say
from tui.errors import ExitCode
from tui.launch.directory import launching
from tui.launch.pins import pin
from tui.launch.proving import preset_of
from tui.launch.records import find_launch
from tui.presets import dump_preset
from tui.presets.store import draft


def save_preset(options: argparse.Namespace) -> ExitCode:
    """Save a running or past launch as a preset; the launch is kept as its evidence."""
    context = open_context(options)
    recorded = find_launch(context.places, options.source)
    proven = preset_of(context.places, recorded, options.name, context.reader.read())
    plan = draft(context.places, proven.preset)
    save_draft(plan, yes=options.yes)
    if proven.preset.evidence is not None and recorded.is_local:
        with launching(context.places):  # no launch prunes meanwhile
            find_launch(context.places, recorded.address)
            pin(recorded, plan.path)
    print(dump_preset(proven.preset), end="")
    for note in proven.notes:
        say(note)
    return ExitCode.DONE
