"""Asking before something is changed that was there."""

from __future__ import annotations

import sys

from tui.errors import RefusedError, UsageError


def confirm(question: str, *, yes: bool, about: str, otherwise: str = "nothing was changed") -> None:
    """Ask, unless that was answered on the command line; the answer is no unless somebody says yes.

    Args:
        question: with its question mark.
        yes: the command line said so.
        about: what may happen, to follow "whether".
        otherwise: what a no comes to.

    Raises:
        UsageError: there is nobody to ask.
        RefusedError: the answer was no.
    """
    if yes:
        return
    if not sys.stdin.isatty():
        raise UsageError(f"there is nobody to ask whether {about}", "give --yes to say so")
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise RefusedError(otherwise)
