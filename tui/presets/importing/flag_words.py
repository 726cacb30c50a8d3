"""A server's arguments as the flags of a preset: names as SGLang spells them, values in their own types."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tui.hiding import is_secret_flag
from tui.presets.importing.remarks import Remarks, quote
from tui.presets.importing.words import Word
from tui.sglang.flags import RELEASES, Flag, FlagInventory, load_inventory
from tui.sglang.references import FlagValue, Reference, Scalar
from tui.sglang.words import nearest_release

_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_NEGATIVE = re.compile(r"-\d+|-\d*\.\d+")
_INTEGER = re.compile(r"-?(0|[1-9]\d{0,17})")
_FLOAT = re.compile(r"-?\d+\.\d+")


@dataclass(slots=True)
class ReadFlags:
    """What the arguments say; model, host and port have their own places in a preset."""

    flags: dict[str, FlagValue] = field(default_factory=dict)
    model: Word | None = None
    host: Word | None = None
    port: Word | None = None


def read_flag_words(words: Sequence[Word], release: str | None, remarks: Remarks) -> ReadFlags:
    """Read the words behind `launch_server` or `serve`.

    Args:
        words: the arguments.
        release: that they were written for; None: any of the recorded ones.
        remarks: is told what isn't plain.
    """
    return _Reader(_inventories(release), remarks).read(words)


def _inventories(release: str | None) -> list[FlagInventory]:
    """The nearest release's first; then the newest first."""
    first = [nearest_release(release)] if release is not None else []
    return [load_inventory(name) for name in dict.fromkeys([*first, *reversed(RELEASES)])]


class _Reader:
    def __init__(self, inventories: Sequence[FlagInventory], remarks: Remarks) -> None:
        self._inventories = inventories
        self._remarks = remarks
        self._found = ReadFlags()
        self._spelled: dict[str, str] = {}  # the name in `flags`, by the flag's own main name

    def read(self, words: Sequence[Word]) -> ReadFlags:
        for option, values in _groups(words):
            if option is None:
                self._take_strays(values)
            else:
                self._take(option, list(values))
        return self._found

    def _take(self, option: Word, values: list[Word]) -> None:
        typed, equals, _ = option.text.partition("=")
        if equals:
            values.insert(0, option.after(len(typed) + 1))
        name, flag = self._resolve(typed)
        if name is None:
            self._remarks.lost(f"{quote(' '.join(word.text for word in (option, *values)))}: no flag of SGLang")
            return
        wanted = len(values) if flag is None else _wanted(flag)
        if equals and not flag:
            wanted = 1
        taken, strays = values[:wanted], values[wanted:]
        self._keep(name, flag, taken)
        self._take_strays(strays, behind=typed)

    def _resolve(self, typed: str) -> tuple[str | None, Flag | None]:
        """The name to keep it under, and the flag; a name without a flag is one that no release knows."""
        for inventory in self._inventories:
            flag = inventory.find(typed)
            if flag is not None:
                return typed.removeprefix("--"), flag
        for inventory in self._inventories:
            flag = inventory.resolve(typed)
            if flag is not None:
                spelled = next(
                    option for option in (*flag.option_strings, *inventory.by_option) if option.startswith(typed)
                )
                return spelled.removeprefix("--"), flag
        return self._guess(typed)

    def _guess(self, typed: str) -> tuple[str | None, Flag | None]:
        """`--tp_size`, `-tp-size`, and what no release knows."""
        spelled = "--" + typed.lstrip("-").replace("_", "-").lower()
        flag = next((flag for it in self._inventories if (flag := it.resolve(spelled)) is not None), None)
        if flag is not None and typed.lstrip("-") and len(spelled) > len("--x"):
            name = spelled if any(it.find(spelled) for it in self._inventories) else flag.option_strings[0]
            self._remarks.changed(f"{typed} was taken for {name}: SGLang wouldn't know it as it was typed")
            return name.removeprefix("--"), flag
        if typed.startswith("--") and _NAME.fullmatch(spelled.removeprefix("--")):
            releases = f"SGLang {', '.join(reversed([it.release for it in self._inventories]))}"
            self._remarks.unclear(
                f"{quote(typed)} isn't a flag in {releases}; it is kept, as {spelled.removeprefix('--')}"
            )
            return spelled.removeprefix("--"), None
        return None, None

    def _keep(self, name: str, flag: Flag | None, values: list[Word]) -> None:
        main = flag.name if flag is not None else name
        value = values[0] if values else None
        if main in ("model-path", "host", "port"):
            if value is None:
                self._remarks.lost(f"--{name} has no value behind it")
            else:
                setattr(self._found, main.removesuffix("-path"), value)
            return
        if main in self._spelled:
            self._remarks.changed(f"--{name} is given twice: the last one counts, as for SGLang")
            self._found.flags.pop(self._spelled[main], None)
        if flag is not None and _is_negated(name, flag):
            self._spelled[main] = name = name.removeprefix("no-")
            self._found.flags[name] = False
            return
        self._spelled[main] = name
        self._found.flags[name] = self._value(name, flag, values)

    def _value(self, name: str, flag: Flag | None, values: list[Word]) -> FlagValue:
        if is_secret_flag(f"--{name}") and values:
            return self._refer(name, values[0])
        for word in values:
            self._doubt(name, word)
        if not values:
            if flag is not None and not flag.is_switch and flag.nargs not in ("?", "*"):
                self._remarks.unclear(f"--{name} has no value behind it")
            return True
        if flag is not None and flag.nargs in ("+", "*"):
            return [_scalar(flag, word) for word in values]
        return _scalar(flag, values[0]) if len(values) == 1 else [_scalar(flag, word) for word in values]

    def _refer(self, name: str, value: Word) -> Reference:
        variable = value.variable or f"SGLANG_{name.upper().replace('-', '_')}"
        if value.variable is None:
            self._remarks.secrets.add(value.text)
            self._remarks.changed(
                f"the value of --{name} is a secret and isn't kept: the preset takes it from the environment variable "
                f"{variable}; set that before a launch"
            )
        else:
            self._remarks.changed(f"--{name} is taken from the environment variable {variable} at each launch")
        return Reference("env", variable)

    def _doubt(self, name: str, word: Word) -> None:
        for unknown in word.unknown:
            self._remarks.unclear(f"{unknown} isn't known here: --{name} keeps it as text; write what it stands for")
        if word.text.startswith("~/"):
            self._remarks.unclear(f"--{name} begins with ~/, which only a shell understands: write the whole path")

    def _take_strays(self, words: Sequence[Word], behind: str | None = None) -> None:
        for word in words:
            if behind is None and self._found.model is None and not self._found.flags and not word.unknown:
                self._found.model = word  # `sglang serve MODEL`
            else:
                where = f" behind {behind}" if behind else ""
                self._remarks.lost(f"{quote(word.text)}{where}: it belongs to no flag")


def _groups(words: Sequence[Word]) -> Iterator[tuple[Word | None, Sequence[Word]]]:
    """Each option with the words up to the next one; None for words before the first."""
    option: Word | None = None
    values: list[Word] = []
    for word in words:
        is_option = word.text.startswith("-") and len(word.text) > 1 and not _NEGATIVE.fullmatch(word.text)
        if is_option:
            if option is not None or values:
                yield option, values
            option, values = word, []
        else:
            values.append(word)
    if option is not None or values:
        yield option, values


def _is_negated(name: str, flag: Flag) -> bool:
    """`--no-x`, of a switch that has both."""
    return flag.action == "boolean" and name.startswith("no-") and f"--{name}" not in flag.option_strings


def _wanted(flag: Flag) -> int:
    if flag.is_switch:
        return 0
    return _ALL if flag.nargs in ("+", "*") else 1


_ALL = 1 << 30  # as many as there are


def _scalar(flag: Flag | None, word: Word) -> Scalar:
    """A number where the flag takes one and the text is one; text otherwise. SGLang reads both the same."""
    text, kind = word.text, flag.type if flag is not None else None
    if kind in ("int", "human_int", None) and _INTEGER.fullmatch(text):
        return int(text)
    if kind == "float":
        try:
            number = float(text)
        except ValueError:
            return text
        return number if math.isfinite(number) else text
    return float(text) if kind is None and _FLOAT.fullmatch(text) and str(float(text)) == text else text
