"""The rows of the flag editor: what was changed on top, then what is given, then what people change, by subject."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from tui.app.core import FlagSheet
from tui.budget.types import MemoryBudget
from tui.errors import UsageError
from tui.sglang.edit import FlagEdit, GivenFlag, edit_words, given_flags
from tui.sglang.flags import Flag, FlagInventory

GROUPS = {
    "memory": (
        *("mem-fraction-static", "max-running-requests", "max-total-tokens", "context-length", "kv-cache-dtype"),
        *("chunked-prefill-size", "cuda-graph-max-bs", "cuda-graph-max-bs-decode", "mamba-ssm-dtype"),
        *("mamba-full-memory-ratio", "max-mamba-cache-size", "swa-full-tokens-ratio", "page-size", "cpu-offload-gb"),
    ),
    "speculation": (
        *("speculative-algorithm", "speculative-num-steps", "speculative-eagle-topk"),
        *("speculative-num-draft-tokens", "speculative-draft-model-path"),
    ),
    "parallelism": ("tp-size", "dp-size", "pp-size", "ep-size", "enable-dp-attention"),
    "serving": (
        *("disable-radix-cache", "schedule-conservativeness", "attention-backend", "reasoning-parser"),
        *("tool-call-parser", "served-model-name", "enable-metrics", "trust-remote-code"),
    ),
}
_NOT_SHOWN = frozenset({"model-path", "host", "port"})  # the launch itself has them
_MOST_FOUND = 60


class FlagRow(Struct, frozen=True):
    """One row.

    Attributes:
        flag: None for a heading.
        name: of the flag, or the words of the heading.
        value: what stands behind it now; None where it isn't given.
        was: what stood behind it before the edit, where that differs; "" where it wasn't given.
        settled: what SGLang makes of it where it isn't given, as far as the plan tells.
    """

    flag: Flag | None
    name: str
    value: str | None = None
    was: str | None = None
    settled: str = ""


def flag_rows(
    sheet: FlagSheet, edit: FlagEdit, search: str = "", budget: MemoryBudget | None = None
) -> tuple[FlagRow, ...]:
    """All rows, or those of the flags that hold what is searched for; the budget tells what SGLang settles on."""
    before = {given.name: given for given in given_flags(sheet.words, sheet.inventory)}
    after = {given.name: given for given in edited_flags(sheet, edit)}
    if search.strip():
        found = _found(search, sheet.inventory)
        count = "no flag" if not found else "1 flag" if len(found) == 1 else f"{len(found)} flags"
        title = FlagRow(None, f"{count} of SGLang {sheet.release}")
        rows = (title, *(_row(flag, before, after) for flag in found[:_MOST_FOUND]))
    else:
        rows = tuple(_sections(sheet.inventory, before, after))
    settled = {} if budget is None else _settled(budget)
    return tuple(replace(row, settled=settled.get(row.name, "")) if row.value is None else row for row in rows)


def _settled(budget: MemoryBudget) -> dict[str, str]:
    """What SGLang chooses where nobody says, by the names of any release."""
    figures = {
        "mem-fraction-static": None if budget.fraction is None else f"{budget.fraction:g}",
        "max-running-requests": budget.max_running_requests,
        "max-total-tokens": None if budget.kv is None or (budget.kv.tokens or 0) <= 0 else budget.kv.tokens,
        "context-length": budget.context_length,
        "chunked-prefill-size": budget.chunked_prefill_size,
        "cuda-graph-max-bs": budget.cuda_graph_max_bs,
        "cuda-graph-max-bs-decode": budget.cuda_graph_max_bs,
    }
    return {name: str(figure) for name, figure in figures.items() if figure is not None}


def edited_flags(sheet: FlagSheet, edit: FlagEdit) -> tuple[GivenFlag, ...]:
    """What would be given; a value that can't be meant, as while it is being typed, is left out of the edit."""
    good = FlagEdit(tuple(pair for pair in edit.set if trouble_with(sheet, *pair) is None), edit.unset)
    return given_flags(edit_words(sheet.words, good, sheet.inventory), sheet.inventory)


def trouble_with(sheet: FlagSheet, name: str, words: tuple[str, ...]) -> str | None:
    """Why the release wouldn't take this, or None."""
    try:
        edit_words((), FlagEdit(((name, words),)), sheet.inventory)
    except UsageError as error:
        return str(error)
    return None


def value_words(flag: Flag) -> str:
    """What may stand behind a flag, for a person."""
    kinds = {"int": "a whole number", "human_int": "a whole number, like 8192 or 8k", "float": "a number"}
    if flag.is_switch:
        what = "a switch"
    elif flag.choices is not None:
        what = f"one of {', '.join(map(str, flag.choices))}"
    else:
        what = kinds.get(flag.type or "", "JSON" if "json" in (flag.type or "") else "a text")
    several = ", several parted by blanks" if flag.nargs in ("+", "*") else ""
    default = "" if flag.default in (None, False) else f"; {flag.default} unless given"
    return f"{what}{several}{default}"


def _sections(inventory: FlagInventory, before: dict[str, GivenFlag], after: dict[str, GivenFlag]) -> Iterator[FlagRow]:
    changed = [name for name in (*after, *before) if _words(before.get(name)) != _words(after.get(name))]
    yield from _section("changed", dict.fromkeys(changed), inventory, before, after)
    kept = [name for name in after if name not in changed and name not in _NOT_SHOWN]
    yield from _section("given", kept, inventory, before, after)
    for title, names in GROUPS.items():
        known = [flag.name for name in names if (flag := inventory.find(f"--{name}")) is not None]
        left = [name for name in dict.fromkeys(known) if name not in after and name not in changed]
        yield from _section(title, left, inventory, before, after)


def _section(
    title: str,
    names: Iterable[str],
    inventory: FlagInventory,
    before: dict[str, GivenFlag],
    after: dict[str, GivenFlag],
) -> Iterator[FlagRow]:
    flags = [flag for name in names if (flag := inventory.find(f"--{name}")) is not None]
    if flags:
        yield FlagRow(None, title)
        yield from (_row(flag, before, after) for flag in flags)


def _row(flag: Flag, before: dict[str, GivenFlag], after: dict[str, GivenFlag]) -> FlagRow:
    old, new = _words(before.get(flag.name)), _words(after.get(flag.name))
    return FlagRow(flag, flag.name, new, None if old == new else (old or ""))


def _words(given: GivenFlag | None) -> str | None:
    if given is None:
        return None
    if not given.words:
        return "off" if given.option.startswith("--no-") else "on"
    return " ".join(given.words)


@lru_cache(maxsize=4)  # while a value is typed, the list below stays
def _found(search: str, inventory: FlagInventory) -> Sequence[Flag]:
    """Flags whose spelling holds every word that was typed, those that begin with it first."""
    words = search.lower().replace("_", "-").lstrip("-").split()
    found = [flag for flag in inventory.flags if all(any(w in o for o in flag.option_strings) for w in words)]
    return sorted(found, key=lambda flag: (not flag.name.startswith(words[0]), flag.action == "deprecated"))
