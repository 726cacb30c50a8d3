"""A server's flags as values, read as argparse would: aliases, unique prefixes, `=`, the last one wins."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from functools import lru_cache
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from tui.sglang.flags import RELEASES, Flag, FlagInventory, load_inventory
from tui.sglang.versions import Release, parse_release

# argparse takes such a word for a value, since no flag of SGLang looks like a number.
_NEGATIVE_NUMBER = re.compile(r"-\d+$|-\d*\.\d+$")
_HUMAN = re.compile(r"(\d+)(\.\d+)?(Ki|Mi|Gi|Ti|k|M|G|T)")
_FACTORS = {"k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40}


class Trouble(StrEnum):
    """Why a word can't stand in a command line."""

    UNKNOWN = "unknown flag"
    AMBIGUOUS = "ambiguous flag"
    NO_VALUE = "no value"
    BAD_VALUE = "bad value"
    STRAY = "stray word"


class FlagTrouble(Struct, frozen=True):
    """One thing that the parser refuses.

    Attributes:
        option: as typed, with its dashes.
        text: the sentence for a person, which names the option.
        words: what stood behind a flag that isn't known; it may be a secret.
    """

    kind: Trouble
    option: str
    text: str
    words: tuple[str, ...] = ()


class Given(Struct, frozen=True):
    """A flag as it was typed.

    Attributes:
        option: with its dashes, as typed: an alias or a prefix, perhaps.
        words: what stood behind it.
    """

    flag: Flag
    option: str
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Flags:
    """What a command line asks for.

    Attributes:
        values: by the flag's name (`name_of`), without dashes; switches are True, several values are a tuple.
        troubles: what the release's own parser would refuse, in the order typed.
        given: the flags behind `values`, under the same names; of one that is repeated, the last.
    """

    values: Mapping[str, Any]
    troubles: tuple[FlagTrouble, ...] = ()
    given: Mapping[str, Given] = field(default_factory=dict, compare=False)

    def get(self, *names: str) -> Any:
        """The value of the first of these flags that is given, or None. A flag has another name in another release."""
        return next((self.values[name] for name in names if name in self.values), None)

    def has(self, *names: str) -> bool:
        """Whether one of these switches is on."""
        return bool(self.get(*names))


@lru_cache(maxsize=64)
def inventories_for(release: Release) -> tuple[FlagInventory, ...]:
    """The recorded inventory of a release, or those of its two neighbours: what either knows is taken."""
    recorded = [parse_release(name) for name in RELEASES]
    older = [name.text for name in recorded if name.number <= release.number]
    newer = [name.text for name in recorded if name.number > release.number]
    if older and (parse_release(older[-1]).number.release == release.number.release or not newer):
        return (load_inventory(older[-1]),)
    return tuple(load_inventory(name) for name in [*older[-1:], *newer[:1]])


def parse_flags(words: Sequence[str], inventories: Sequence[FlagInventory]) -> Flags:
    """Read words as typed behind `python -m sglang.launch_server`."""
    return _parse(tuple(words), tuple(inventories))


@lru_cache(maxsize=16)  # a plan and its checks read the same line several times
def _parse(words: tuple[str, ...], inventories: tuple[FlagInventory, ...]) -> Flags:
    parser = _Parser(inventories)
    for word in words:
        parser.take(word)
    parser.finish()
    return Flags(parser.values, tuple(parser.troubles), parser.given)


def name_of(flag: Flag) -> str:
    """One name for a flag in all releases: the newest one's main spelling, where it still has it."""
    newest = load_inventory(RELEASES[-1])
    known = next(filter(None, map(newest.find, flag.option_strings)), flag)
    return known.name


def read_value(flag: Flag, text: str) -> Any:
    """A value in the flag's own type.

    Raises:
        ValueError: it isn't one; the message says what would be.
    """
    value = _READERS[flag.type or "str"](text)
    if flag.choices is not None and value not in flag.choices:
        raise ValueError("must be one of " + ", ".join(map(str, flag.choices)))
    return value


class _Parser:
    """The words so far; a flag is finished when the next one begins. Either inventory may accept it."""

    def __init__(self, inventories: Sequence[FlagInventory]) -> None:
        self._inventories = inventories
        self._flags: list[Flag] = []
        self._option = ""
        self._words: list[str] = []
        self._skipped: FlagTrouble | None = None  # a flag that isn't known: its values, if any, are nobody's
        self._closed = False
        self.values: dict[str, Any] = {}
        self.given: dict[str, Given] = {}
        self.troubles: list[FlagTrouble] = []

    def take(self, word: str) -> None:
        if word.startswith("--") and len(word) > len("--"):
            self.finish()
            option, equals, value = word.partition("=")
            self._begin(option)
            if equals:
                self._words.append(value)
                self._closed = True  # argparse takes nothing more behind `--x=1`, not even for a list
        elif word.startswith("-") and len(word) > 1 and not _NEGATIVE_NUMBER.match(word):
            self.finish()
            self._refuse(Trouble.UNKNOWN, word, f"SGLang has no flag {word}")
        elif self._skipped is not None:
            self._words.append(word)
        elif not self._takes_more():
            self._refuse(Trouble.STRAY, word, f"{word!r} belongs to no flag")
        else:
            self._words.append(word)

    def finish(self) -> None:
        flags, words, skipped = self._flags, self._words, self._skipped
        self._flags, self._words, self._skipped, self._closed = [], [], None, False
        if skipped is not None:
            self.troubles.append(replace(skipped, words=tuple(words)))
        errors = []
        for flag in flags:
            try:
                value = self._read(flag, words)
            except ValueError as error:
                errors.append(str(error))
            else:
                name = name_of(flag)
                self.values[name] = value
                self.given[name] = Given(flag, self._option, tuple(words))
                return
        if flags:
            kind = Trouble.BAD_VALUE if words else Trouble.NO_VALUE
            self._refuse(kind, self._option, f"{' '.join([self._option, *words])}: {errors[-1]}")

    def _begin(self, option: str) -> None:
        found = (inventory.resolve(option) for inventory in self._inventories)
        self._flags, self._option, self._words = [flag for flag in found if flag is not None], option, []
        if not self._flags:
            self._skipped = FlagTrouble(*self._explain(option))

    def _explain(self, option: str) -> tuple[Trouble, str, str]:
        meant = sorted({name for it in self._inventories for name in it.by_option if name.startswith(option)})
        if meant:
            return Trouble.AMBIGUOUS, option, f"{option} could be {', '.join(meant)}"
        releases = " nor in ".join(inventory.release for inventory in self._inventories)
        negation = "isn't" if len(self._inventories) == 1 else "is neither"
        return Trouble.UNKNOWN, option, f"{option} {negation} a flag in SGLang {releases}"

    def _takes_more(self) -> bool:
        if self._closed:
            return False
        return any(not flag.is_switch and (flag.nargs in ("+", "*") or not self._words) for flag in self._flags)

    def _read(self, flag: Flag, words: list[str]) -> Any:
        if flag.is_switch:
            if words:
                raise ValueError("takes no value")
            return not self._option.startswith("--no-") or self._option in flag.option_strings
        if flag.nargs in ("+", "*"):
            if not words and flag.nargs == "+":
                raise ValueError("needs a value behind it")
            return tuple(read_value(flag, word) for word in words)
        if not words:
            if flag.nargs == "?":
                return True
            raise ValueError("needs a value behind it")
        return read_value(flag, words[0])

    def _refuse(self, kind: Trouble, option: str, text: str) -> None:
        self.troubles.append(FlagTrouble(kind, option, text))


def _integer(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError("must be a whole number") from None


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise ValueError("must be a number") from None
    if not math.isfinite(value):
        raise ValueError("must be a finite number")
    return value


def read_human_integer(text: str) -> int:
    """`8192`, `8k` (thousands), `1.5M` or `8Ki` (binary), as SGLang reads them (0.5.11 utils/common.py:2328).

    Raises:
        ValueError: it is none of these.
    """
    match = _HUMAN.fullmatch(text.strip())
    if match is None:
        return _integer(text)
    whole, decimals, suffix = match.groups()
    if decimals and suffix.endswith("i"):
        raise ValueError(f"must be whole in front of {suffix}")
    return int(Decimal(whole + (decimals or "")) * _FACTORS[suffix])


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"isn't JSON ({error})") from None


_READERS: dict[str, Callable[[str], Any]] = {
    "str": str,
    "int": _integer,
    "float": _number,
    "human_int": read_human_integer,
    "json": _json,
    "json_list": _json,
    "nullable_str": lambda text: None if text in ("None", "") else text,
}
