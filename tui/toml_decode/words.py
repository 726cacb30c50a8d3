"""Keys and values in words for a person. What a file holds is text: no control character gets through."""

from __future__ import annotations

import datetime as dt
import difflib
from collections.abc import Collection

from tui.text import printable

KeyPath = tuple[str | int, ...]

_SHOWN_CHARACTERS = 60
_KINDS = {bool: "true or false", str: "a text", int: "a number", float: "a number", list: "a list", dict: "a table"}


def describe_value(value: object) -> str:
    """A value as its author would know it: `'80a'`, `true`, `a list`; shortened."""
    match value:
        case bool():
            return str(value).lower()
        case int() | float():
            return _shorten(str(value))
        case str():
            return repr(_shorten(value))
        case _:
            return describe_type(value)


def describe_type(value: object) -> str:
    """The kind of a value without the value, for places where it may be a secret."""
    if isinstance(value, dt.date | dt.time):
        return "a date or time"
    return _KINDS[type(value)]


def name_key(keys: KeyPath) -> str:
    """A key with the tables around it: `launch.gpus[1]`."""
    name = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys)
    return printable(name.removeprefix("."))


def did_you_mean(word: str, allowed: Collection[str], what: str) -> str:
    """The remedy for an unknown name: the nearest ones, then all there are; `what` says of which kind they are."""
    if not allowed:
        return f"there are no {what}"
    near = difflib.get_close_matches(word, allowed, n=2)
    guess = f"did you mean {' or '.join(near)}? " if near else ""
    return printable(f"{guess}{what}: {', '.join(sorted(allowed))}")


def _shorten(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "…"
