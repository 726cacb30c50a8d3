"""What the command line says to people: on stderr, one line, nothing in it steers the terminal."""

from __future__ import annotations

import sys

from tui.text import printable


def say(text: str) -> None:
    """Say it."""
    print(f"sgltui: {printable(text)}", file=sys.stderr, flush=True)
