"""Words of a command line as they come out of an import: what is in them that nobody can know here stays visible."""

from __future__ import annotations

from dataclasses import dataclass, field

from msgspec import Struct


class Word(Struct, frozen=True):
    """One word, with quotes taken off.

    Attributes:
        text: as the program would get it; what isn't known stands in it as it was typed: `$MODEL`, `$(hostname)`.
        unknown: those parts.
        variable: the name, where the word is nothing but one unknown variable.
    """

    text: str
    unknown: tuple[str, ...] = ()
    variable: str | None = None

    def after(self, count: int) -> Word:
        """The word without its first characters."""
        rest = self.text[count:]
        alone = self.unknown[0] if len(self.unknown) == 1 and self.unknown[0] == rest else None
        name = alone.strip("${}") if alone is not None and not alone.startswith("$(") else None
        return Word(rest, self.unknown, name if name is not None and name.isidentifier() else None)


@dataclass(slots=True)
class Invocation:
    """One command with the variables that it is started with."""

    words: list[Word]
    environment: dict[str, Word] = field(default_factory=dict)
    output: tuple[str, ...] = ()
    """Where its output was sent, as typed."""
    is_background: bool = False
    python: str | None = None
    """Of a virtual environment that was activated before."""


def split_assignment(word: Word) -> tuple[str, Word] | None:
    """`NAME=value` in two, or None."""
    name, equals, _ = word.text.partition("=")
    if not equals or not name.isidentifier() or not name.isascii():
        return None
    return name, word.after(len(name) + 1)
