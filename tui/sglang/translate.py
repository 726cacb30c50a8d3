"""A preset's flags for another release: pure, from a table of renames; says what it changed and what it can't carry."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from msgspec import Struct

from tui.sglang.flag_history import find_life
from tui.sglang.flags import Flag, FlagInventory
from tui.sglang.parse import read_value
from tui.sglang.references import FlagValue, Reference
from tui.sglang.renames import (
    ATTENTION_REPLICAS,
    ATTENTION_SWITCH,
    DISPENSABLE,
    GONE,
    RENAMES,
    REPLICAS,
    Rename,
)
from tui.sglang.target import Target


class Change(Struct, frozen=True):
    """Flags that others stand in for; `new` is empty where nothing has to.

    Attributes:
        why: in words, for a person.
    """

    old: Mapping[str, FlagValue]
    new: Mapping[str, FlagValue]
    why: str


class Lost(Struct, frozen=True):
    """A flag that can't be carried over, why, and what to do instead."""

    name: str
    why: str
    remedy: str


class Translation(Struct, frozen=True):
    """What a translation came to.

    Attributes:
        flags: for the other release, in the order of the old ones.
    """

    flags: Mapping[str, FlagValue]
    changes: tuple[Change, ...]
    lost: tuple[Lost, ...]


def translate(flags: Mapping[str, FlagValue], source: Target | None, target: Target) -> Translation:
    """Flags by name without dashes, as they must be written for another release.

    Args:
        flags: as they were written.
        source: the release they were written for, which tells what an abbreviation meant; None: not known.
        target: the release that shall read them.
    """
    work = _Work(source, target)
    work.take(dict(flags))
    return Translation(work.flags, tuple(work.changes), tuple(work.lost))


@dataclass(slots=True)
class _Work:
    source: Target | None
    target: Target
    flags: dict[str, FlagValue] = field(default_factory=dict)
    changes: list[Change] = field(default_factory=list)
    lost: list[Lost] = field(default_factory=list)

    def take(self, flags: dict[str, FlagValue]) -> None:
        written = {self._full_name(name): name for name in flags}.get(ATTENTION_REPLICAS)
        if written is not None and self._find(ATTENTION_REPLICAS) is None:
            value = flags.pop(written)
            pair: dict[str, FlagValue] = {REPLICAS: value, ATTENTION_SWITCH: True}
            self.flags.update(pair)
            self.changes.append(Change({written: value}, pair, self._why(ATTENTION_REPLICAS, REPLICAS)))
        for name, value in flags.items():
            self._one(name, value)

    def _one(self, name: str, value: FlagValue) -> None:
        full = self._full_name(name)
        found = self._find(full)
        if found is not None:
            same = self._means_the_same(name, full)
            self._keep(name if same else full, value, found, name)
            return
        renames = [row for row in _rows_from(full) if self._find(row.new) is not None]
        usable = [(row, carried) for row in renames if (carried := _carry(row, value)) is not None]
        if len(usable) == 1:
            row, carried = usable[0]
            flag = self._find(row.new)
            assert flag is not None  # noqa: S101 - only such rows are left
            self._keep(row.new, carried, flag, name, was=value)
        elif full in DISPENSABLE:
            self.changes.append(Change({name: value}, {}, f"left out: {DISPENSABLE[full]}"))
        else:
            self.lost.append(self._explain(name, full, [row.new for row, _ in usable] or [row.new for row in renames]))

    def _keep(self, name: str, value: FlagValue, flag: Flag, written: str, was: FlagValue | None = None) -> None:
        value = _reshape(value, flag)
        trouble = _refusal(value, flag)
        if trouble is not None:
            shown = f"{name} = {value}" if name != written else f"{value}"
            remedy = f"choose another value for {name}, or leave it out"
            self.lost.append(
                Lost(written, f"SGLang {self.target.release.text} doesn't take {shown}: {trouble}", remedy)
            )
            return
        self.flags[name] = value
        old = value if was is None else was
        if name != written or old != value:
            self.changes.append(Change({written: old}, {name: value}, self._why(written, name)))

    def _why(self, old: str, new: str) -> str:
        if old == new:
            return f"SGLang {self.target.release.text} takes it in another form"
        life = find_life(f"--{old}")
        return (life and life.describe(self.target.release)) or "spelled out: the short form isn't unique any more"

    def _explain(self, name: str, full: str, candidates: list[str]) -> Lost:
        life = find_life(f"--{full}")
        why = (life and life.describe(self.target.release)) or f"SGLang {self.target.release.text} hasn't got it"
        if full in GONE:
            return Lost(name, why, GONE[full])
        if candidates:
            return Lost(name, why, f"see {' and '.join(f'--{one}' for one in candidates)}")
        return Lost(name, why, "leave it out, or stay with the release")

    def _find(self, name: str) -> Flag | None:
        return next(filter(None, (it.find(f"--{name}") for it in self.target.inventories)), None)

    def _full_name(self, name: str) -> str:
        """An abbreviation spelled out, as the release it was written for understood it."""
        if self.source is None:
            return name
        exact = (it.find(f"--{name}") for it in self.source.inventories)
        if any(exact):
            return name
        meant = _resolve(self.source.inventories, name)
        return name if meant is None else meant.name

    def _means_the_same(self, name: str, full: str) -> bool:
        """The target's parser takes `name` for the flag that it calls `full`."""
        meant = _resolve(self.target.inventories, name)
        return meant is not None and f"--{full}" in meant.option_strings


def _resolve(inventories: tuple[FlagInventory, ...], name: str) -> Flag | None:
    return next(filter(None, (it.resolve(f"--{name}") for it in inventories)), None)


def _rows_from(name: str) -> list[Rename]:
    """Rows of the table that begin at this flag, in either direction."""
    forward = [row for row in RENAMES if row.old == name]
    back = [
        Rename(row.new, row.old, {new: old for old, new in row.values.items()}) for row in RENAMES if row.new == name
    ]
    return forward + back


def _carry(row: Rename, value: FlagValue) -> FlagValue | None:
    """The value under its new name; None where the row doesn't say."""
    if not row.values:
        return value
    if value is False:
        return None
    carried: FlagValue | None = None if isinstance(value, list | Reference) else row.values.get(value)
    return carried


def _reshape(value: FlagValue, flag: Flag) -> FlagValue:
    """A list where the release wants one, whose text an earlier one took as JSON (0.5.6's "[1, 2]")."""
    if flag.nargs in ("+", "*") and isinstance(value, str) and value.startswith("["):
        try:
            items: list[str | int | float] = _read_json_list(value)
        except ValueError:
            return value
        return items
    return value


def _read_json_list(text: str) -> list[str | int | float]:
    """A JSON list of plain values.

    Raises:
        ValueError: it isn't one.
    """
    items = json.loads(text)
    if not isinstance(items, list) or not all(isinstance(item, str | int | float) for item in items):
        raise ValueError(text)
    return items


def _refusal(value: FlagValue, flag: Flag) -> str | None:
    """Why the flag doesn't take the value; None if it does, or nobody can tell yet."""
    if value is False or isinstance(value, Reference):
        return None
    if value is True:
        return None if flag.is_switch or flag.nargs == "?" else "it needs a value"
    if flag.is_switch:
        return "it is a switch, without a value"
    try:
        for item in value if isinstance(value, list) else [value]:
            read_value(flag, str(item))
    except ValueError as error:
        return str(error)
    return None
