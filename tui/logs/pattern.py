"""A regular expression as people type it, and the literals that any line it matches must hold.

`re` takes a minute for what `bytes.find` does in half a second: so lines are looked at only where a literal stands.
"""

from __future__ import annotations

import re

from msgspec import Struct

from tui.errors import UsageError
from tui.logs.text import sanitize

_LEAST_LITERAL = 3  # shorter ones stand everywhere
_REPEATS = frozenset("*?{")  # what stands before may be missing
_PLAIN_ESCAPES = frozenset(r".^$*+?{}[]\|()/-_=:,;#\"'<>@!%&~` ")
_SPECIAL = frozenset(".^$*+?{}[]|()")
_HARD = re.compile(r"\(\?|\\[xuUN\d]")  # flags, lookarounds, characters by number, references: not worth understanding
_SEEN_CHARACTERS = 64 * 1024


class Pattern(Struct, frozen=True):
    """What lines are looked for.

    Attributes:
        text: as it was typed.
        expression: matched against sanitised lines.
        literals: a line that matches holds one of them; empty when nobody can tell.
        folded: the literals are in lower case, and so is to be what they are looked for in.
    """

    text: str
    expression: re.Pattern[str]
    literals: tuple[bytes, ...]
    folded: bool = False

    def matches(self, line: bytes) -> bool:
        """Whether the line, as it is shown, matches."""
        return self.may_hold(line) and self.expression.search(sanitize(line, limit=_SEEN_CHARACTERS)) is not None

    @property
    def minds_case(self) -> bool:
        """It might match more if it didn't."""
        return not self.expression.flags & re.IGNORECASE and self.text.lower() != self.text.upper()

    def may_hold(self, data: bytes) -> bool:
        """Whether some line of these bytes may match: cheap."""
        # What isn't shown may stand in the middle of a word, and a tab is shown as blanks.
        if not self.literals or b"\x1b" in data or b"\t" in data or b"\0" in data or not data.isascii():
            return True
        folded = data.lower() if self.folded else data
        return any(literal in folded for literal in self.literals)


def compile_pattern(text: str) -> Pattern:
    """Make a pattern of what was typed. Case counts; `(?i)` in front ignores it.

    Raises:
        UsageError: it is no regular expression.
    """
    try:
        expression = re.compile(text)
    except re.error as error:
        raise UsageError(
            f"{text!r} is no regular expression: {error}", "put \\ before what is meant literally"
        ) from error
    body, folded = (text[4:], True) if text.startswith("(?i)") else (text, False)
    literals = _literals(body)
    if folded and not all(literal.isascii() for literal in literals):
        literals = []  # some letters change their length with their case
    encoded = tuple((literal.lower() if folded else literal).encode() for literal in literals)
    return Pattern(text, expression, encoded, folded)


def _literals(text: str) -> list[str]:
    """The longest literal of each alternative; none at all when one of them has none."""
    if _HARD.search(text):
        return []
    found = [max(runs, key=len, default="") for runs in _alternatives(text)]
    return found if all(len(literal) >= _LEAST_LITERAL for literal in found) else []


def _alternatives(text: str) -> list[list[str]]:
    """Runs of characters that must stand in a match as they are, for each alternative; groups aren't looked into."""
    alternatives: list[list[str]] = [[""]]
    at = depth = 0
    while at < len(text):
        literal, after = _token(text, at)
        if text[at] == "(":
            depth += 1
        elif text[at] == ")":
            depth -= 1
        elif text[at] == "|" and not depth:
            alternatives.append([])
        optional = after < len(text) and text[after] in _REPEATS
        if literal is None or depth or optional or not alternatives[-1]:
            alternatives[-1].append("")
        if literal is not None and not depth and not optional:
            alternatives[-1][-1] += literal
            if after < len(text) and text[after] == "+":
                alternatives[-1].append("")
        at = after
    return alternatives


def _token(text: str, at: int) -> tuple[str | None, int]:
    """The character that is meant literally at a place, or None, and where the next one begins."""
    sign = text[at]
    if sign == "\\":
        escaped = text[at + 1 : at + 2]
        return (escaped if escaped in _PLAIN_ESCAPES else None), at + 2
    if sign == "[":
        return None, _behind_class(text, at)
    if sign == "{":
        end = text.find("}", at)
        return None, (end if end > 0 else at) + 1
    return (None if sign in _SPECIAL else sign), at + 1


def _behind_class(text: str, at: int) -> int:
    """Behind `[...]`; a `]` that stands first belongs to it."""
    at += 2 if text[at + 1 : at + 2] == "^" else 1
    at += text[at : at + 1] == "]"
    while at < len(text) and text[at] != "]":
        at += 2 if text[at] == "\\" else 1
    return at + 1
