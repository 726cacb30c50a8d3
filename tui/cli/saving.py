"""Saving a preset from the command line: what would change is shown, and somebody says yes."""

from __future__ import annotations

import sys

from tui.cli.say import say
from tui.errors import RefusedError, UsageError
from tui.presets.store import Draft, save


def confirm(question: str, *, yes: bool, about: str) -> None:
    """Ask, unless that was answered on the command line.

    Raises:
        UsageError: there is nobody to ask.
        RefusedError: the answer was no.
    """
    if yes:
        return
    if not sys.stdin.isatty():
        raise UsageError(f"there is nobody to ask whether {about}", "give --yes if it may")
    print(f"{question} [y/N] ", end="", file=sys.stderr)
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise RefusedError("nothing was changed")


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
