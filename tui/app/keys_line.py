"""The keys of a box or an editor in one line."""

from __future__ import annotations

from collections.abc import Iterable

from tui.app.command import Command
from tui.app.keys import Keys


def keys_line(
    commands: Iterable[Command], keys: Keys, *, separator: str = "   ", colon: str = ":", read_only: bool = False
) -> str:
    """Those that have a place in a footer, the most important first; several with one label share it: `1-3 take`."""
    by_label: dict[str, list[str]] = {}
    listed = [one for one in commands if one.footer is not None and not (read_only and one.changes)]
    for command in sorted(listed, key=lambda one: one.footer or 0):
        if key := keys.first(command):
            by_label.setdefault(command.label, []).append(key)
    return separator.join(f"{_joined(found)}{colon} {label}" for label, found in by_label.items())


def _joined(keys: list[str]) -> str:
    """`1-3` for digits in a row, else `u, v`."""
    numbers = [int(key) for key in keys if key.isdecimal()]
    if len(numbers) == len(keys) > 1 and numbers == list(range(numbers[0], numbers[-1] + 1)):
        return f"{numbers[0]}-{numbers[-1]}"
    return ", ".join(keys)
