"""Saving a preset from the command line: what would change is shown, and somebody says yes."""

from __future__ import annotations

import sys

from tui.cli.confirm import confirm
from tui.cli.say import say
from tui.presets.store import Draft, save


def save_draft(plan: Draft, *, yes: bool) -> None:
    """Write a preset; over an earlier one only after its diff was shown and somebody agreed.

    Raises:
        SgltuiError: nobody agreed, or it was changed meanwhile.
    """
    if plan.changes_nothing:
        say(f"{plan.path} says the same already")
        return
    if plan.before is not None:
        print(plan.diff, file=sys.stderr)
        confirm(f"Replace {plan.path.name}?", yes=yes, about=f"{plan.path} may be replaced")
    kept = save(plan)
    say(f"saved as {plan.path}{f'; the earlier version is {kept.name}' if kept else ''}")
