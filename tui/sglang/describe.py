"""What a flag takes, for whoever edits one: its kind, its values, and completion as it is typed."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from msgspec import Struct

from tui.sglang.flags import Flag, FlagInventory


class Kind(StrEnum):
    """What to type behind a flag."""

    SWITCH = "switch"  # nothing
    PAIR = "pair"  # nothing; `--no-x` switches it off
    INT = "int"
    FLOAT = "float"
    CHOICE = "choice"
    TEXT = "text"
    JSON = "json"
    LIST = "list"  # several words


class Description(Struct, frozen=True):
    """A flag for a form.

    Attributes:
        item: of a list, what each word is; else the same as `kind`.
        default: the parser's; SGLang resolves None later.
        help: SGLang's own words, or an empty text where its parser wasn't asked.
    """

    name: str
    kind: Kind
    item: Kind
    choices: tuple[Any, ...]
    default: Any
    help: str
    deprecated: bool


_BY_TYPE = {
    "int": Kind.INT,
    "human_int": Kind.INT,
    "float": Kind.FLOAT,
    "json": Kind.JSON,
    "json_list": Kind.JSON,
    "str": Kind.TEXT,
    "nullable_str": Kind.TEXT,
}


def kind_of(flag: Flag) -> Kind:
    """What is typed behind it."""
    return Kind.LIST if flag.nargs in ("+", "*") else item_kind(flag)


def item_kind(flag: Flag) -> Kind:
    """What each of its words is."""
    if flag.action == "boolean":
        return Kind.PAIR
    if flag.is_switch:
        return Kind.SWITCH
    return Kind.CHOICE if flag.choices is not None else _BY_TYPE[flag.type or "str"]


def describe(flag: Flag) -> Description:
    """Everything that a form needs."""
    return Description(
        flag.name, kind_of(flag), item_kind(flag), flag.choices or (), flag.default, flag.help, flag.deprecated
    )


def complete(prefix: str, inventory: FlagInventory, limit: int = 20) -> tuple[Flag, ...]:
    """Flags for what was typed so far, with or without dashes, the likeliest first.

    Those that begin with it come first, then those with a word that does, then those that hold it anywhere; deprecated
    ones last in each.
    """
    typed = prefix.lstrip("-").lower().replace("_", "-")
    ranked = sorted(
        (rank, flag.deprecated, flag.action == "deprecated", place)
        for place, flag in enumerate(inventory.flags)
        if (rank := min(_rank(option.lstrip("-"), typed) for option in flag.option_strings)) < _NOT
    )
    return tuple(inventory.flags[place] for *_, place in ranked[:limit])


_NOT = 3


def _rank(name: str, typed: str) -> int:
    if name.startswith(typed):
        return 0
    if f"-{typed}" in name:
        return 1
    return 2 if typed in name else _NOT
