"""A systemd unit as the command that it starts: its quoting, escapes, specifiers and variables (systemd.service(5))."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tui.errors import UsageError
from tui.presets.importing.remarks import Remarks, quote
from tui.presets.importing.words import Invocation, Word, split_assignment

_UNIT = re.compile(r"^\s*(?:\[Service\]|ExecStart\s*=)", re.MULTILINE)
_SETTING = re.compile(r"\s*([A-Za-z]+)\s*=\s*(.*)", re.DOTALL)
_VARIABLE = re.compile(r"\$\$|\$\{(\w+)\}|\$(\w+)", re.ASCII)
_SPECIFIER = re.compile(r"%(.)")
_ESCAPES = {"n": "\n", "t": "\t", "s": " ", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_HEX = re.compile(r"x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{3})")
_DURATION = re.compile(r"(\d+)\s*(ms|s|sec|seconds|min|m)?")
_SECONDS = {"ms": 0.001, "min": 60.0, "m": 60.0}
_RESTARTS = frozenset({"always", "on-failure", "on-abnormal", "on-abort"})
_IGNORED = frozenset(
    {"Type", "Description", "After", "Wants", "Requires", "WantedBy", "StandardOutput", "StandardError"}
)


def is_unit(text: str) -> bool:
    """It looks like one."""
    return _UNIT.search(text) is not None


class Unit:
    """What a unit says.

    Attributes:
        invocations: one for each `ExecStart=`.
        restarts: it is started again when it fails.
        pause_s: before that, in seconds; None: not said.
    """

    def __init__(self, text: str, remarks: Remarks) -> None:
        self._remarks = remarks
        self._environment: dict[str, Word] = {}
        self._commands: list[str] = []
        self.restarts = False
        self.pause_s: float | None = None
        for name, value in _settings(text):
            self._take(name, value)
        self.invocations = [Invocation(self._words(command), dict(self._environment)) for command in self._commands]

    def _take(self, name: str, value: str) -> None:
        match name:
            case "ExecStart":
                self._commands = [*self._commands, value.lstrip("@-:+!|")] if value else []
            case "Environment":
                for word in _split(value):
                    assignment = split_assignment(_specify(word))
                    if assignment is not None:
                        self._environment[assignment[0]] = assignment[1]
            case "Restart":
                self.restarts = value in _RESTARTS
            case "RestartSec":
                match_ = _DURATION.fullmatch(value)
                self.pause_s = int(match_[1]) * _SECONDS.get(match_[2] or "s", 1.0) if match_ else None
            case _ if name not in _IGNORED:
                self._remarks.lost(f"{quote(f'{name}={value}')} of the unit")

    def _words(self, command: str) -> list[Word]:
        return [word for text in _split(command) for word in self._expand(text)]

    def _expand(self, text: str) -> list[Word]:
        """`$NAME` alone is split into words, `${NAME}` is not; those that the unit doesn't set stay."""
        alone = re.fullmatch(r"\$(\w+)", text, re.ASCII)
        if alone and alone[1] in self._environment:
            value = self._environment[alone[1]]
            return [Word(part, value.unknown) for part in value.text.split()]
        return [self._fill(_specify(text))]

    def _fill(self, word: Word) -> Word:
        unknown = list(word.unknown)

        def put(match: re.Match[str]) -> str:
            name = match[1] or match[2]
            if name is None:
                return "$"
            value = self._environment.get(name)
            unknown.extend([match[0]] if value is None else value.unknown)
            return match[0] if value is None else value.text

        text = _VARIABLE.sub(put, word.text)
        match = _VARIABLE.fullmatch(text) if unknown == [text] else None
        return Word(text, tuple(unknown), (match[1] or match[2]) if match else None)


def _settings(text: str) -> Iterator[tuple[str, str]]:
    """Names and values; a comment between continued lines is skipped, as systemd does."""
    gathered = ""
    for line in text.split("\n"):
        if line.lstrip().startswith(("#", ";")):
            continue
        if line.endswith("\\"):
            gathered += line[:-1] + " "
            continue
        match = _SETTING.fullmatch((gathered + line).strip())
        gathered = ""
        if match:
            yield match[1], match[2].strip()


def _split(text: str) -> Sequence[str]:
    """Words by systemd's quoting: both kinds of quotes, C escapes in and outside of them."""
    words: list[str] = []
    word: str | None = None
    sign = ""
    at = 0
    while at < len(text):
        here = text[at]
        if here == "\\" and at + 1 < len(text):
            unescaped, length = _unescape(text, at + 1)
            word, at = (word or "") + unescaped, at + length
        elif sign and here == sign:
            sign = ""
        elif not sign and here in "'\"":
            sign, word = here, word or ""
        elif not sign and here in " \t":
            words, word = (words if word is None else [*words, word]), None
        else:
            word = (word or "") + here
        at += 1
    if sign:
        raise UsageError(f"a quote isn't closed in {quote(text[:80])}", "paste the whole unit")
    return words if word is None else [*words, word]


def _unescape(text: str, at: int) -> tuple[str, int]:
    """What stands for the escape behind a backslash, and its length."""
    match = _HEX.match(text, at)
    if match:
        code = int(match[4], 8) if match[4] else int(match[1] or match[2] or match[3], 16)
        return chr(code) if 0 < code < 0x110000 else "\ufffd", len(match[0])  # noqa: PLR2004 - the end of Unicode
    return _ESCAPES.get(text[at], text[at]), 1


def _specify(text: str) -> Word:
    """`%%` is a percent sign, `%h` the home folder; other specifiers only systemd knows."""
    unknown: list[str] = []

    def put(match: re.Match[str]) -> str:
        if match[1] == "%":
            return "%"
        if match[1] == "h":
            return "~"
        unknown.append(match[0])
        return match[0]

    return Word(_SPECIFIER.sub(put, text), tuple(unknown))
