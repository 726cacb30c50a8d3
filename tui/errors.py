"""Errors that a person reads: what happened, to what, and what to do next."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """Exit statuses that scripts rely on."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    DOES_NOT_FIT = 3
    CANNOT_TELL = 4
    NOT_CLEAN = 5  # stopped, but something survived or memory didn't come back
    INTERRUPTED = 130


class SgltuiError(Exception):
    """A failure with its remedy.

    Attributes:
        what: what happened, naming the file, key or process.
        hint: what to do next, or an empty string.
    """

    exit_code = ExitCode.FAILED

    def __init__(self, what: str, hint: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint

    def __str__(self) -> str:
        """One line: the fact, then the remedy."""
        return f"{self.what}; {self.hint}" if self.hint else self.what


class UsageError(SgltuiError):
    """The request itself was wrong: an unknown name, a bad value, a broken preset."""

    exit_code = ExitCode.USAGE


class RefusedError(SgltuiError):
    """Refused before anything was started or changed."""
