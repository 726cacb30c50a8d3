"""What can be wrong with a model's files, in words for the person who named them."""

from __future__ import annotations

from pathlib import Path

from tui.errors import ExitCode, SgltuiError
from tui.text import printable


class ModelError(SgltuiError):
    """A model whose files can't be used as they are.

    Attributes:
        file: the file, or None when there is none to name.
        key: the key in it, dotted, or None.
    """

    exit_code = ExitCode.USAGE

    def __init__(self, what: str, hint: str = "", *, file: Path | None = None, key: str | None = None) -> None:
        where = "" if file is None else f"{printable(str(file))}: "
        super().__init__(where + what, hint)
        self.file = file
        self.key = key


class UnknownArchitectureError(ModelError):
    """An architecture whose memory this version can't compute."""


class ModelNotFoundError(ModelError):
    """Nothing at the given path, and nothing in the local Hugging Face cache."""


class IncompleteModelError(ModelError):
    """A checkpoint of which a part is missing: mostly a download that didn't finish."""
