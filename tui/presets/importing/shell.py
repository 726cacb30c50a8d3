"""Shell text as the commands that it would run, each with its variables; nothing is run to find that out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from tui.presets.importing.expand import expand
from tui.presets.importing.lexer import Lexer, RawWord, Token
from tui.presets.importing.remarks import Remarks, quote
from tui.presets.importing.words import Invocation, Word, split_assignment

_EXPORTS = frozenset({"export", "declare", "typeset", "local", "readonly", "set"})
_SOURCES = frozenset({"source", "."})
_MAX_DEPTH = 8


def read_shell(text: str, remarks: Remarks, depth: int = 0) -> list[Invocation]:
    """The commands of a shell text in order, those of its here-documents behind them.

    Raises:
        UsageError: a quote isn't closed.
    """
    shell = _Shell(remarks)
    shell.read(list(Lexer(text).tokens()))
    inner = [
        one for document in shell.documents if depth < _MAX_DEPTH for one in read_shell(document, remarks, depth + 1)
    ]
    return [*shell.invocations, *inner]


class _Shell:
    """What a shell knows while it reads on."""

    def __init__(self, remarks: Remarks) -> None:
        self._remarks = remarks
        self._variables: dict[str, tuple[Word, ...]] = {}
        self._exported: dict[str, Word] = {}
        self._python: str | None = None
        self.invocations: list[Invocation] = []
        self.documents: list[str] = []

    def read(self, tokens: Sequence[Token]) -> None:
        for command, ended_by in _commands(tokens):
            self._take(command, ended_by)

    def _take(self, tokens: Sequence[Token], ended_by: str) -> None:
        self.documents.extend(token.text for token in tokens if token.kind == "document")
        for token in tokens:
            if token.kind == "array":
                self._variables[token.text] = tuple(self._expand_all(token.words))
            elif token.kind == "comment" and token.text.startswith("#SBATCH"):
                self._remarks.lost(f"{quote(token.text)}: the batch system's wishes")
        environment, words = self._split([token.pieces for token in tokens if token.kind == "word"])
        output = tuple(token.text for token in tokens if token.kind == "redirection")
        if not words:
            self._variables.update({name: (value,) for name, value in environment.items()})
            self._exported.update({name: value for name, value in environment.items() if name in self._exported})
        elif words[0].text in _EXPORTS:
            self._export(words[1:])
        elif words[0].text.startswith("-") and self.invocations:
            self._go_on(words, output)
        elif not self._is_activation(words):
            started_with = self._exported | environment
            is_background = ended_by == "&"
            self.invocations.append(Invocation(words, started_with, output, is_background, self._python))

    def _split(self, raw: Sequence[RawWord]) -> tuple[dict[str, Word], list[Word]]:
        """Assignments in front, and the words behind them."""
        environment: dict[str, Word] = {}
        for number, pieces in enumerate(raw):
            name, equals, _ = pieces[0].text.partition("=") if pieces and pieces[0].variable is None else ("", "", "")
            if not equals or pieces[0].is_quoted or not name.isidentifier():
                return environment, self._expand_all(raw[number:])
            [whole] = expand(_unsplit(pieces), self._variables, self._remarks)
            environment[name] = whole.after(len(name) + 1)
        return environment, []

    def _expand_all(self, raw: Sequence[RawWord]) -> list[Word]:
        return [word for pieces in raw for word in expand(pieces, self._variables, self._remarks)]

    def _export(self, words: Sequence[Word]) -> None:
        for word in words:
            assignment = split_assignment(word)
            if assignment is not None:
                name, value = assignment
                self._variables[name] = (value,)
                self._exported[name] = value
            elif word.text in self._variables:
                self._exported[word.text] = self._variables[word.text][0]

    def _go_on(self, words: list[Word], output: tuple[str, ...]) -> None:
        """Flags on a line of their own: a comment or a missing backslash has cut the command in two."""
        before = self.invocations[-1]
        before.words.extend(words)
        before.output += output
        self._remarks.changed(
            f"a line that begins with {quote(words[0].text)} was taken for a part of the command above it, "
            "which a shell would have ended there"
        )

    def _is_activation(self, words: Sequence[Word]) -> bool:
        if words[0].text in _SOURCES and len(words) > 1 and words[1].text.endswith("/bin/activate"):
            self._python = words[1].text.removesuffix("activate") + "python"
            return True
        return False


def _unsplit(pieces: RawWord) -> RawWord:
    """The value of an assignment is one word, whatever is in it."""
    return tuple(replace(piece, is_quoted=True) for piece in pieces)


def _commands(tokens: Sequence[Token]) -> Iterator[tuple[list[Token], str]]:
    """Cut at operators; a document belongs to the line before it."""
    gathered: list[Token] = []
    for token in tokens:
        if token.kind != "operator":
            gathered.append(token)
        if gathered and token.kind in ("operator", "document"):
            yield gathered, token.text if token.kind == "operator" else ""
            gathered = []
    if gathered:
        yield gathered, ""
