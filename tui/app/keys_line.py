"""The keys of a box or an editor in one line."""

from __future__ import annotations

from collections.abc import Iterable

from rich.cells import cell_len

from tui.app.command import Command
from tui.app.keys import Keys

LABEL_CELLS = 6
"""Of a box's border: corners and blanks that a label in it leaves."""

_GAP = "  "


def keys_line(commands: Iterable[Command], keys: Keys, width: int, *, read_only: bool = False) -> str:
    """As many as have room, the most important first; several with one label share a place: `1-3 propose`."""
    by_label: dict[str, list[str]] = {}
    listed = [one for one in commands if one.footer is not None and not (read_only and one.changes)]
    for command in sorted(listed, key=lambda one: one.footer or 0):
        if key := keys.first(command):
            by_label.setdefault(command.label, []).append(key)
    line = ""
    for label, found in by_label.items():
        longer = f"{line}{_GAP if line else ''}{_joined(found)} {label}"
        if cell_len(longer) > width:
            break
        line = longer
    return line


def _joined(keys: list[str]) -> str:
    """`1-3` for digits in a row, else `u, v`."""
    numbers = [int(key) for key in keys if key.isdecimal()]
    if len(numbers) == len(keys) > 1 and numbers == list(range(numbers[0], numbers[-1] + 1)):
        return f"{numbers[0]}-{numbers[-1]}"
    return ", ".join(keys)
