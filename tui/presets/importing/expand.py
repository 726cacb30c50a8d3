"""Variables that the pasted text itself sets are filled in; others stay as they were typed, and are known by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tui.presets.importing.lexer import Piece, RawWord
from tui.presets.importing.remarks import Remarks
from tui.presets.importing.words import Word

Variables = Mapping[str, tuple[Word, ...]]


def expand(raw: RawWord, variables: Variables, remarks: Remarks) -> list[Word]:
    """The words that a shell would make of one: an unquoted variable may hold several."""
    gathering = _Gathering()
    for piece in raw:
        if piece.variable is None:
            gathering.add(piece.text)
        else:
            _add_variable(gathering, piece, variables, remarks)
    return gathering.finish(is_word=any(piece.is_quoted for piece in raw) or not raw)


def _add_variable(gathering: _Gathering, piece: Piece, variables: Variables, remarks: Remarks) -> None:
    values = variables.get(piece.variable or "")
    if values is None and piece.default is not None:
        remarks.changed(f"{piece.variable} isn't set here: its default {piece.default!r} was taken")
        values = (Word(piece.default),)
    if values is None:
        gathering.add(piece.text, unknown=(piece.text,), variable=piece.variable)
        return
    for number, value in enumerate(values):
        if number:
            gathering.cut()
        if piece.is_quoted or piece.is_array:
            gathering.add(value.text, value.unknown, value.variable)
        else:
            gathering.add_split(value)


class _Gathering:
    """A word that grows, and those before it."""

    def __init__(self) -> None:
        self._words: list[Word] = []
        self._parts: list[tuple[str, tuple[str, ...], str | None]] = []

    def add(self, text: str, unknown: tuple[str, ...] = (), variable: str | None = None) -> None:
        self._parts.append((text, unknown, variable))

    def add_split(self, value: Word) -> None:
        """An unquoted variable's value: blanks in it end words."""
        texts = value.text.split()
        if value.text[:1].isspace():
            self.cut()
        for number, text in enumerate(texts):
            if number:
                self.cut()
            self.add(text, tuple(name for name in value.unknown if name in text), value.variable)
        if value.text[-1:].isspace():
            self.cut()

    def cut(self) -> None:
        if any(text for text, _, _ in self._parts):
            self._words.append(self._join())
        self._parts = []

    def finish(self, *, is_word: bool) -> list[Word]:
        """All words; an empty one counts where quotes make it one."""
        if self._parts and (is_word or any(text for text, _, _ in self._parts)):
            self._words.append(self._join())
        return self._words

    def _join(self) -> Word:
        said = [part for part in self._parts if part[0]]
        variable = said[0][2] if len(said) == 1 else None
        return Word("".join(text for text, _, _ in said), tuple(self._unknown()), variable or None)

    def _unknown(self) -> Iterator[str]:
        for _, unknown, _ in self._parts:
            yield from unknown
