"""What a flag that a release doesn't take was meant to be: another spelling, its name in that release, or a slip."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import SequenceMatcher

from tui.hiding import is_secret_flag
from tui.sglang.flag_history import find_life
from tui.sglang.flags import FlagInventory
from tui.sglang.parse import FlagTrouble, Trouble
from tui.sglang.references import FlagValue
from tui.sglang.target import Target
from tui.sglang.translate import translate

_ALIKE, _MOST_TYPOS = 0.8, 4


def find_meant(trouble: FlagTrouble, target: Target) -> Mapping[str, FlagValue] | None:
    """Flags to write in its place, with its value: none where nothing has to stand there, None where nobody can tell.

    A secret is nobody's to pass on.
    """
    name = trouble.option.lstrip("-")
    if trouble.kind not in (Trouble.UNKNOWN, Trouble.AMBIGUOUS) or not name or is_secret_flag(trouble.option):
        return None
    meant = find_spelling(name, target) or name
    if meant == name and trouble.kind is Trouble.UNKNOWN and not _was_a_flag(name, target):
        guesses = near_names(name, target)
        if len(guesses) != 1 or is_secret_flag(f"--{guesses[0]}"):
            return None
        [meant] = guesses
    moved = translate({meant: typed_value(trouble)}, None, target)
    return None if moved.lost else moved.flags


def typed_value(trouble: FlagTrouble) -> FlagValue:
    """What stood behind it, as a preset has it; True where nothing did."""
    words = trouble.words
    return True if not words else words[0] if len(words) == 1 else list(words)


def find_spelling(name: str, target: Target) -> str | None:
    """The name with hyphens, where that is what the release calls it."""
    spelled = name.replace("_", "-")
    is_flag = spelled != name and any(it.find(f"--{spelled}") is not None for it in target.inventories)
    return spelled if is_flag else None


def near_names(name: str, target: Target) -> list[str]:
    """Names of the release that are spelled much like it, the likeliest first."""
    return list(dict.fromkeys(guess for inventory in target.inventories for guess in _guess(name, inventory)))


def _was_a_flag(name: str, target: Target) -> bool:
    """Another release has it."""
    life = find_life(f"--{name}")
    return life is not None and not life.includes(target.release)


def _guess(name: str, inventory: FlagInventory) -> list[str]:
    """Only near ones are compared: it runs at each key."""
    words = set(name.split("-"))
    matcher = SequenceMatcher(b=name, autojunk=False)
    scored: list[tuple[float, str]] = []
    for option in inventory.by_option:
        other = option.lstrip("-")
        is_near = abs(len(other) - len(name)) <= _MOST_TYPOS and (
            other[:2] == name[:2] or words & set(other.split("-"))
        )
        if not is_near:
            continue
        matcher.set_seq1(other)
        if matcher.real_quick_ratio() >= _ALIKE and matcher.quick_ratio() >= _ALIKE and matcher.ratio() >= _ALIKE:
            scored.append((matcher.ratio(), other))
    return [other for _, other in sorted(scored, reverse=True)]
