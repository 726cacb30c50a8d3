"""A command line that SGLang won't take."""

from __future__ import annotations


class RefusedLaunch(Exception):  # noqa: N818 - a verdict that travels upwards, not a fault
    """SGLang ends while it reads its arguments.

    Attributes:
        reason: one sentence for a person.
        error: what SGLang says, where its own words are known.
    """

    def __init__(self, reason: str, error: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.error = error


class CannotTell(Exception):  # noqa: N818 - likewise a verdict
    """Something that isn't modelled decides the answer; the message says what."""
