"""The keys of a screen, a box or a panel in one line: those that do something now, standing out from their words."""

from __future__ import annotations

from typing import Any

from textual.content import Content
from textual.screen import Screen

from tui.app.here import usable
from tui.app.keys import written

LABEL_CELLS = 6
"""Of a box's border: corners and blanks that a label in it leaves."""
KEY_STYLE = "$footer-key-foreground bold"

_GAP = "  "


def keys_line(screen: Screen[Any], width: int) -> Content:
    """As many as have room, the most important first; several with one label share a place: `1-3 take`."""
    found = [one for place in usable(screen) for one in place if one.command.footer is not None]
    by_label: dict[str, list[str]] = {}
    for one in sorted(found, key=lambda one: one.command.footer or 0):
        by_label.setdefault(one.command.label, []).append(written(one.keys[0]))
    line = Content()
    for label, keys in by_label.items():
        longer = Content.assemble(line, _GAP if line else "", key_content(_joined(keys), label))
        if longer.cell_length > width:
            break
        line = longer
    return line


def key_content(key: str, label: str) -> Content:
    """A key and what it does."""
    return Content.assemble((key, KEY_STYLE), f" {label}")


def _joined(keys: list[str]) -> str:
    """`1-3` for digits in a row, else `u, v`."""
    numbers = [int(key) for key in keys if key.isdecimal()]
    if len(numbers) == len(keys) > 1 and numbers == list(range(numbers[0], numbers[-1] + 1)):
        return f"{numbers[0]}-{numbers[-1]}"
    return ", ".join(keys)
