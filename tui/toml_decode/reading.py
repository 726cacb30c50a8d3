"""Reading a TOML file that a person wrote: bytes, text, syntax. `TomlError` says where it fails."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from tui.errors import UsageError
from tui.text import printable
from tui.toml_decode.lines import find_unfinished

MAX_BYTES = 1 << 20
_POSITION = re.compile(r"(?P<what>.*) \(at (?:line (?P<line>\d+), column (?P<column>\d+)|end of document)\)", re.DOTALL)

# tomllib's time grows with the square of a dotted key's length: hours for one of a megabyte.
_MOST_PARTS = 64
_PART = r"""(?:[\w-]++|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')[ \t]*+"""
_LONG_KEY = re.compile(rf"(?<![\w-])(?:{_PART}\.[ \t]*+){{{_MOST_PARTS}}}")

# tomllib speaks of its grammar; these are words for somebody who wrote a file by hand.
_IN_WORDS = {
    "Invalid value (at end": ("a value or a list isn't finished", ""),
    "Invalid value": ("a value is missing or not quoted", 'text stands in "quotes", switches are true or false'),
    "Cannot overwrite a value": ("a key is written twice", "keep one of the two"),
    "Cannot declare": ("a table is written twice", "put all its keys under one heading"),
    "Expected '=' after a key": ("a key without a value", "write key = value"),
    "Expected newline or end of document": ("something follows a complete value", "write one key = value a line"),
    "Unterminated string": ("a text without closing quotes", ""),
    "Illegal character": ("a text without closing quotes, or with a control character in it", ""),
    "Unclosed array": ("a list without its closing bracket", ""),
}


class TomlError(UsageError):
    """A file that can't be used as it is.

    Attributes:
        path: the file.
        line: where, counted from 1; None when it concerns the whole file.
    """

    def __init__(self, path: Path, line: int | None, what: str, hint: str = "") -> None:
        where = str(path) if line is None else f"{path}:{line}"
        super().__init__(f"{printable(where)}: {what}", hint)
        self.path = path
        self.line = line


def read_text(path: Path) -> str:
    """The text of a file of at most 1 MiB.

    Raises:
        TomlError: it can't be read, is larger, or isn't UTF-8.
    """
    data = _read_bytes(path)
    if len(data) > MAX_BYTES:
        raise TomlError(path, None, "larger than 1 MiB", "a file written by hand has a few dozen lines")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise TomlError(path, line, "not UTF-8 text", "save it as UTF-8") from None


def parse(path: Path, text: str) -> dict[str, Any]:
    """The values of a TOML text.

    Raises:
        TomlError: it isn't TOML.
    """
    long_key = _LONG_KEY.search(text)
    if long_key is not None:
        line = text.count("\n", 0, long_key.start()) + 1
        raise TomlError(path, line, f"a name of more than {_MOST_PARTS} parts with dots between them")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise TomlError(path, None, "lists or tables are nested too deeply") from None
    except ValueError as error:  # TOMLDecodeError, or a number of thousands of digits
        raise _syntax_error(path, text, str(error)) from None


def _read_bytes(path: Path) -> bytes:
    try:
        if path.exists() and not path.is_file():  # a FIFO would block us for ever
            raise TomlError(path, None, "not a file")
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except OSError as error:
        raise TomlError(path, None, f"can't be read: {error.strerror}") from error


def _syntax_error(path: Path, text: str, message: str) -> TomlError:
    match = _POSITION.fullmatch(message)
    if match is None:
        return TomlError(path, None, f"not valid TOML: {printable(message)}")
    said = match["what"]
    what, hint = next((ours for theirs, ours in _IN_WORDS.items() if message.startswith(theirs)), (printable(said), ""))
    if match["line"]:
        return TomlError(path, int(match["line"]), f"not valid TOML at column {match['column']}: {what}", hint)
    return TomlError(path, find_unfinished(text), f"not valid TOML: {what}", hint)
