"""From what a person does in the flag editor to an edit of a command line; pure functions."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from tui.app.core import Editable
from tui.app.flag_rows import FlagRow
from tui.budget.types import FlagChange
from tui.diagnosis.diagnosis import Change, FlagValue
from tui.errors import UsageError
from tui.launch.gpu_choices import GpuChoice
from tui.sglang.edit import FlagEdit, find_flag
from tui.sglang.flags import FlagInventory


def with_change(edit: FlagEdit, change: FlagChange | Change, inventory: FlagInventory) -> FlagEdit:
    """The edit with a proposed change made, for the release that has these flags."""
    for name in change.unset:
        edit = edit.unsetting(name)
    for name, value in change.set.items():
        edit = edit.unsetting(name) if value is False else edit.setting(name, *_words(name, value, inventory))
    return edit


def _words(name: str, value: FlagValue, inventory: FlagInventory) -> Sequence[str]:
    if value is True or value == "true":
        return ()
    word = f"{value:g}" if isinstance(value, float) else str(value)
    flag = inventory.find(f"--{name}")
    return word.split() if flag is not None and flag.nargs in ("+", "*") else (word,)


def changed_flag(change: FlagChange | Change, inventory: FlagInventory) -> str | None:
    """The flag at which a change is seen: the first that it sets, else the first that it leaves out."""
    for name in (*change.set, *change.unset):
        with suppress(UsageError):
            return find_flag(name, inventory).name
    return None


def with_value(before: FlagEdit, row: FlagRow, text: str) -> FlagEdit:
    """The edit while a value is typed; nothing typed leaves the flag out."""
    assert row.flag is not None  # noqa: S101 - a heading is never edited
    words = tuple(text.split()) if row.flag.nargs in ("+", "*") else (text.strip(),)
    if not text.strip():
        return before.unsetting(row.name) if row.value is not None and row.was is None else before.forgetting(row.name)
    return before.setting(row.name, *words)


def with_gpus(before: Editable, choice: GpuChoice, inventory: FlagInventory) -> Editable:
    """The launch on other GPUs, and with the number of ranks that goes with them."""
    edit = before.edit
    if choice.tensor is not None:
        edit = edit.setting(find_flag("tp-size", inventory).name, str(choice.tensor))
    return replace(before, gpus=choice.typed, edit=edit)
