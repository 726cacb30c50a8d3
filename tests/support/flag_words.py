"""Command lines for hypothesis: flags of an inventory with values that its parser takes."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from tui.sglang.flags import Flag, FlagInventory
from tui.sglang.references import FlagValue

# Words that argparse can't be given behind a flag in two words are given as `--x=…`, of which there is one.
_TEXT = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=12)
_PLAIN = st.text("abcXYZ019./_: ", min_size=1, max_size=12)


def samples(flag: Flag) -> list[FlagValue]:
    """Each kind of value that a flag takes, for tests that go through all flags."""
    if flag.is_switch:
        return [True, False] if flag.action == "boolean" else [True]
    kinds: dict[str | None, list[Any]] = {
        "int": [0, 7, -1, 2**40],
        "human_int": [8192, -1, "8k", "1.5M", "2Ki"],
        "float": [0.5, 1e-05, 3.0, -0.25],
        "json": ['{"a": [1, "b c"]}', "[]"],
        "json_list": ["[1, 2]", "[]"],
    }
    texts: list[Any] = ["a", "a b", "/x.y=z", "q\"u'o\\te", "ü"]
    items = list(flag.choices) if flag.choices is not None else kinds.get(flag.type, texts)
    if flag.nargs in ("+", "*"):
        lists: list[FlagValue] = [[item] for item in items]
        return [*lists, items]
    return [*items, *([] if flag.choices or flag.type != "str" else ["-x", "--x"])]


def values(flag: Flag) -> st.SearchStrategy[FlagValue]:
    """What a preset may hold for a flag."""
    if flag.action == "boolean":
        return st.booleans()
    if flag.is_switch:
        return st.just(value=True)
    if flag.nargs in ("+", "*"):
        return st.lists(_item(flag, _PLAIN), min_size=1, max_size=4)
    return _item(flag, _TEXT)


def _item(flag: Flag, text: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    if flag.choices is not None:
        return st.sampled_from(flag.choices)
    match flag.type:
        case "int" | "human_int":
            return st.integers(-(2**40), 2**40)
        case "float":
            return st.floats(allow_nan=False, allow_infinity=False, width=64)
        case "json":
            return st.dictionaries(_PLAIN, st.integers(), max_size=2).map(json.dumps)
        case "json_list":
            return st.lists(st.integers(), max_size=3).map(json.dumps)
        case _:
            return text


def tables(
    inventory: FlagInventory, *, without: frozenset[str] = frozenset()
) -> st.SearchStrategy[dict[str, FlagValue]]:
    """Tables of some flags."""
    flags = [flag for flag in inventory.flags if flag.name not in without]
    return st.lists(st.sampled_from(flags), max_size=6, unique_by=lambda flag: flag.dest).flatmap(
        lambda some: st.fixed_dictionaries({flag.name: values(flag) for flag in some})
    )
