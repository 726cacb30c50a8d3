"""Lines at which a problem begins or is named, by their looks and by what is known of such lines."""

from __future__ import annotations

from msgspec import Struct, field

from tui.diagnosis.severity import severity_of
from tui.logs.highlight import LineKind, classify
from tui.logs.sieve import Problems
from tui.logs.text import sanitize

_FRAMES = frozenset({LineKind.TRACEBACK, LineKind.ACCESS, LineKind.BATCH})


class KnownProblems(Struct, frozen=True):
    """A sieve, like those of `tui.logs.sieve`: warnings that look like any other line pass, too."""

    _looks: Problems = field(default_factory=Problems)

    def may_hold(self, data: bytes) -> bool:
        """Nobody can tell without looking."""
        return self._looks.may_hold(data)

    def matches(self, line: bytes) -> bool:
        """It looks like a problem, or is known to be one."""
        if self._looks.matches(line):
            return True
        text = sanitize(line)
        return classify(text) not in _FRAMES and severity_of(text) is not None
