"""Typed words as the table of flags that a preset holds: main names, values as TOML has them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tui.sglang.parse import FlagTrouble, Given, parse_flags
from tui.sglang.references import FlagValue, Scalar
from tui.sglang.target import Target

_TOML_INT_BITS = 63


def table_of_words(words: Sequence[str], target: Target) -> tuple[dict[str, FlagValue], tuple[FlagTrouble, ...]]:
    """The flags of a command line by their main names, and what its parser would refuse.

    `build_arguments` makes words again that the parser reads alike. A secret is among the values, as it was typed.
    """
    flags = parse_flags(words, target.inventories)
    return {given.flag.name: value_of(given) for given in flags.given.values()}, flags.troubles


def value_of(given: Given) -> FlagValue:
    """What a preset says for it."""
    flag, words = given.flag, given.words
    if flag.is_switch:
        return given.option in flag.option_strings or not given.option.startswith("--no-")
    if not words:
        return True  # `--x` alone, which `?` and `*` take
    if flag.nargs in ("+", "*"):
        return [_scalar(word, flag.type) for word in words]
    return _scalar(words[0], flag.type)


def _scalar(word: str, kind: str | None) -> Scalar:
    """A number where TOML has the same; else the text as it was typed: `8k`, JSON."""
    if kind in ("int", "human_int") and word.removeprefix("-").isdecimal() and int(word).bit_length() <= _TOML_INT_BITS:
        return int(word)
    if kind == "float":
        number = float(word)
        return number if math.isfinite(number) else word
    return word
