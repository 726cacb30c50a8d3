"""Shell text as tokens: words with their quotes and variables, operators, redirections, here-documents, comments.

The grammar is POSIX's (Shell Command Language, 2.2 to 2.7) with bash's arrays and `$'…'`. Nothing is expanded here,
and nothing is ever run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, TypeAlias

from msgspec import Struct, field

from tui.errors import UsageError

_OPERATOR = re.compile(r";;|&&|\|\||\|&|[;&|()\n]")
_REDIRECTION = re.compile(r"(?:\d*(?:<<<|<<-|<<|>>|>\||>&|<&|<>|<|>)|&>>|&>)")
_PLACEHOLDER = re.compile(r"<[A-Za-z][\w ./:-]*>(?=[\s/\"']|$)")  # `--model <your-model>`, as documentation writes it
_CONTINUATION = re.compile(r"\\[ \t]*\n")
_BLANK = re.compile(r"(?:[ \t]|\\[ \t]*\n)+")
_VARIABLE = re.compile(r"\$(?:(?P<plain>[A-Za-z_]\w*)|(?P<special>[@*#?$!0-9-]))", re.ASCII)
_BRACED = re.compile(r"\$\{(?P<name>[A-Za-z_]\w*)(?P<all>\[[@*]\])?(?::?[-=](?P<default>[^{}$`]*))?\}", re.ASCII)
_ANSI = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"', "e": "\x1b", "a": "\a"}
_BREAKS = " \t\n;&|()<>"


class Piece(Struct, frozen=True):
    """A part of a word.

    Attributes:
        text: what it says, or for a variable or a command substitution how it was typed.
        variable: its name; None for text, empty for what only a shell can compute.
        default: what stands for a variable that isn't set: `${PORT:-30000}`.
    """

    text: str
    is_quoted: bool = False
    variable: str | None = None
    default: str | None = None
    is_array: bool = False


RawWord: TypeAlias = tuple[Piece, ...]


class Token(Struct, frozen=True):
    """One token; `pieces` of a word, `words` of an array `NAME=(…)`, `text` of everything else."""

    kind: Literal["word", "array", "operator", "redirection", "document", "comment"]
    text: str = ""
    pieces: RawWord = ()
    words: tuple[RawWord, ...] = field(default=())


class Lexer:
    """Cuts a text into tokens.

    Raises:
        UsageError: a quote isn't closed.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._documents: list[str] = []

    def tokens(self) -> Iterator[Token]:
        """All of them."""
        while self._at < len(self._text):
            token = self._next()
            if token is not None:
                yield token

    def _next(self) -> Token | None:
        if match := _BLANK.match(self._text, self._at):
            self._at = match.end()
            return None
        here = self._text[self._at]
        if here == "#":
            return Token("comment", self._take_until("\n"))
        if here == "\n" and self._documents:
            self._at += 1
            return Token("document", self._read_document(self._documents.pop(0)))
        return self._sign() or self._word_or_array()

    def _sign(self) -> Token | None:
        """An operator or a redirection, if one stands here."""
        if _PLACEHOLDER.match(self._text, self._at):
            return None
        if match := _REDIRECTION.match(self._text, self._at):
            self._at = match.end()
            return self._redirection(match[0])
        if match := _OPERATOR.match(self._text, self._at):
            self._at = match.end()
            return Token("operator", match[0])
        return None

    def _redirection(self, sign: str) -> Token:
        while self._at < len(self._text) and self._text[self._at] in " \t":
            self._at += 1
        target = "".join(piece.text for piece in self._word())
        if sign.lstrip("0123456789") in ("<<", "<<-"):
            self._documents.append(target)
        return Token("redirection", f"{sign} {target}" if not sign.endswith("&") else f"{sign}{target}")

    def _read_document(self, end: str) -> str:
        start = self._at
        for line in self._text[start:].split("\n"):
            stop = self._at
            self._at += len(line) + 1
            if line.strip() == end:
                return self._text[start:stop]
        self._at = len(self._text)
        return self._text[start:]

    def _word_or_array(self) -> Token:
        pieces = self._word()
        if pieces and pieces[-1].text.endswith("=") and self._text[self._at : self._at + 1] == "(":
            self._at += 1
            return Token("array", "".join(piece.text for piece in pieces)[:-1], words=tuple(self._array()))
        return Token("word", pieces=pieces)

    def _array(self) -> Iterator[RawWord]:
        while self._at < len(self._text):
            token = self._next()
            if token is not None and token.kind == "operator" and token.text == ")":
                return
            if token is not None and token.kind == "word":
                yield token.pieces

    def _word(self) -> RawWord:
        pieces: list[Piece] = []
        while self._at < len(self._text):
            if match := _CONTINUATION.match(self._text, self._at):
                if match[0] != "\\\n":
                    break
                self._at = match.end()
            elif match := _PLACEHOLDER.match(self._text, self._at):
                self._at = match.end()
                pieces.append(Piece(match[0], variable=""))
            elif self._text[self._at] in _BREAKS:
                break
            else:
                pieces.extend(self._pieces())
        return tuple(pieces)

    def _pieces(self) -> Iterator[Piece]:
        match self._text[self._at]:
            case "'":
                yield Piece(self._quoted("'"), is_quoted=True)
            case '"':
                yield from self._double_quoted()
            case "\\":
                yield Piece(self._text[self._at + 1 : self._at + 2], is_quoted=True)
                self._at += 2
            case "$" if self._text.startswith("$'", self._at):
                self._at += 1
                yield Piece(self._ansi(), is_quoted=True)
            case "$" | "`":
                yield self._expansion(is_quoted=False)
            case _:
                yield Piece(self._plain())

    def _plain(self) -> str:
        start = self._at
        while self._at < len(self._text) and self._text[self._at] not in _BREAKS + "'\"\\$`":
            self._at += 1
        return self._text[start : self._at]

    def _quoted(self, sign: str) -> str:
        stop = self._text.find(sign, self._at + 1)
        if stop < 0:
            raise self._unclosed(self._at)
        inner = self._text[self._at + 1 : stop]
        self._at = stop + 1
        return inner

    def _double_quoted(self) -> Iterator[Piece]:
        opened = self._at
        self._at += 1
        gathered = ""
        while True:
            here = self._text[self._at : self._at + 1]
            if here == "":
                raise self._unclosed(opened)
            if here in '"$`':
                if gathered or here == '"':
                    yield Piece(gathered, is_quoted=True)
                gathered = ""
                if here == '"':
                    self._at += 1
                    return
                yield self._expansion(is_quoted=True)
            elif here == "\\":
                following = self._text[self._at + 1 : self._at + 2]
                gathered += "" if following == "\n" else following if following in '"\\$`' else here + following
                self._at += 2
            else:
                gathered += here
                self._at += 1

    def _expansion(self, *, is_quoted: bool) -> Piece:
        start = self._at
        if match := _BRACED.match(self._text, start):
            self._at = match.end()
            return Piece(match[0], is_quoted, match["name"], match["default"], match["all"] is not None)
        if match := _VARIABLE.match(self._text, start):
            self._at = match.end()
            return Piece(match[0], is_quoted, match["plain"] or "")
        for opening, closing in (("$(", ")"), ("${", "}"), ("`", "`")):
            if self._text.startswith(opening, start):
                self._at = self._find_closing(start + len(opening), opening[-1], closing)
                return Piece(self._text[start : self._at], is_quoted, "")
        self._at += 1
        return Piece("$", is_quoted)

    def _find_closing(self, at: int, opening: str, closing: str) -> int:
        depth = 1
        for index in range(at, len(self._text)):
            if self._text[index] == closing:
                depth -= 1
            elif self._text[index] == opening:
                depth += 1
            if depth == 0:
                return index + 1
        return len(self._text)

    def _ansi(self) -> str:
        match = re.compile(r"'((?:[^'\\]|\\.)*)'", re.DOTALL).match(self._text, self._at)
        if match is None:
            raise self._unclosed(self._at)
        self._at = match.end()
        return re.sub(r"\\(.)", lambda found: _ANSI.get(found[1], found[0]), match[1], flags=re.DOTALL)

    def _take_until(self, sign: str) -> str:
        stop = self._text.find(sign, self._at)
        start, self._at = self._at, len(self._text) if stop < 0 else stop
        return self._text[start : self._at]

    def _unclosed(self, at: int) -> UsageError:
        line = self._text.count("\n", 0, at) + 1
        return UsageError(f"line {line}: a quote that opens there isn't closed", "paste the whole command")
