"""On which line of a TOML text a key is written. tomllib doesn't keep that.

The text is cut into statements with tomllib itself: lines are gathered until they parse alone. A statement over several
lines (a list, a multi-line text) parses only with its last line, so the cuts are exact.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

# Gathering costs the square of a statement's length; hand-written ones are short. Behind a longer one no line is told.
_LONGEST_LINES, _LONGEST_CHARACTERS = 200, 64 * 1024


class _Statement(Struct, frozen=True):
    """One heading, key with value, comment or blank line.

    Attributes:
        line: its first line, counted from 1.
        values: what it parses to alone; None when it never ends.
        heading: the table that it opens, or None.
    """

    line: int
    values: dict[str, Any] | None
    heading: tuple[str, ...] | None


def find_line(text: str, names: tuple[str, ...]) -> int | None:
    """The line (from 1) where the key `names` is written, else the table around it; None for the whole document."""
    while names:
        line = _find_exact(text, names)
        if line is not None:
            return line
        names = names[:-1]
    return None


def find_unfinished(text: str) -> int:
    """Where a text goes wrong that is wrong "at its end": the statement that never ends, else the last line."""
    line = 1
    for statement in _statements(text):
        if statement.values is None:
            return statement.line
        line = statement.line if statement.values else line
    return line


def _find_exact(text: str, names: tuple[str, ...]) -> int | None:
    table: tuple[str, ...] = ()
    for statement in _statements(text):
        if statement.heading is not None:
            table = statement.heading
            found = table[: len(names)] == names
        else:
            found = names[: len(table)] == table and _holds(statement.values, names[len(table) :])
        if found:
            return statement.line
    return None


def _holds(values: Any, names: tuple[str, ...]) -> bool:
    for name in names:
        if not isinstance(values, dict) or name not in values:
            return False
        values = values[name]
    return True


def _statements(text: str) -> Iterator[_Statement]:
    gathered: list[str] = []
    lines = text.replace("\r\n", "\n").split("\n")
    for number, line in enumerate(lines, start=1):
        gathered.append(line)
        first = number - len(gathered) + 1
        values = _parse("\n".join(gathered))
        if values is not None:
            yield _Statement(first, values, _heading(values) if gathered[0].lstrip().startswith("[") else None)
            gathered = []
        elif len(gathered) == _LONGEST_LINES or sum(map(len, gathered)) > _LONGEST_CHARACTERS:
            break
    if gathered:
        yield _Statement(first, None, None)


def _parse(source: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(source)
    except (ValueError, RecursionError):
        return None


def _heading(values: Any) -> tuple[str, ...]:
    """The names in `[a.b]` or `[[a.b]]`, which parse to tables inside one another."""
    names: list[str] = []
    while values:
        if isinstance(values, list):
            values = values[0]
        else:
            name, values = next(iter(values.items()))
            names.append(name)
    return tuple(names)
