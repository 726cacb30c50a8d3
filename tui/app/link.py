"""How far the terminal is behind: what was painted, and what it has drawn of that, over a link that may be slow.

Between us and a person's terminal are buffers (ours, sshd's, the kernel's) that take seconds of a slow link's time, so
that a write which returns tells nothing. Therefore a question goes behind each larger frame, which the terminal answers
when it comes to it: that is one round trip, and what is above the shortest round trip seen is the time the frame took.
"""

from __future__ import annotations

import time
from collections.abc import Callable

QUESTION = "\x1b[6n"
"""Where the cursor is: every terminal answers, tmux and screen in its place."""
_ASKED_FROM = 2048  # a smaller frame, in characters, takes no time on any link that is worth adapting to
_PATIENCE_S = 0.1
_LOST_AFTER_S = 10.0  # no answer is that late
_SILENT_AFTER_S = 3.0  # a terminal that has never answered won't
_SHARE = 3.0  # of the link's time what nobody waits for takes a third at most: the rest is for answers to keys
_LONGEST_S = 8.0
_BLURRED_S = 2.0  # nobody looks closely


class Link:
    """Asked by the event loop, answered by the thread that reads the terminal.

    Attributes:
        is_remote: it goes over a network.
        is_blurred: another window has the keys.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic, *, is_remote: bool = False) -> None:
        self.is_remote = is_remote
        self._clock = clock
        # One at a time, so that an answer can't be taken for another question's. Set by the event loop while it is
        # None, and back to None by the reading thread: neither overwrites the other's.
        self._asked_at: float | None = None
        self._shortest_s = float("inf")
        self._took_s = 0.0
        self._is_silent = False
        self.is_blurred = False

    def asks_behind(self, size: int) -> bool:
        """Whether a question goes behind a write of so many characters; it counts as asked."""
        if size < _ASKED_FROM or self._is_silent or self.is_asked:
            return False
        self.ask()
        return True

    def ask(self) -> None:
        """A question is written now."""
        self._asked_at = self._clock()

    def answered(self) -> None:
        """The terminal has drawn what was written before the question."""
        if (asked_at := self._asked_at) is None:  # an answer to somebody else's question, or one that was given up
            return
        took = self._clock() - asked_at
        self._shortest_s = min(self._shortest_s, took)
        self._took_s = took - self._shortest_s
        self._asked_at = None

    @property
    def is_behind(self) -> bool:
        """It hasn't drawn the last frame yet, later than a round trip explains."""
        if (asked_at := self._asked_at) is None:
            return False
        waited = self._clock() - asked_at
        if self._shortest_s == float("inf"):
            if waited > _SILENT_AFTER_S:
                self._is_silent = True
                self._asked_at = None
            return False
        if waited > _LOST_AFTER_S:
            self._asked_at = None
            return False
        return waited > self._shortest_s + _PATIENCE_S

    @property
    def is_asked(self) -> bool:
        """An answer is under way."""
        return self._asked_at is not None

    def allows(self, passed_s: float, period_s: float) -> bool:
        """Whether something may be painted that nobody waits for.

        Args:
            passed_s: since it was painted last.
            period_s: what is waited in between on a fast link.
        """
        least = max(period_s, min(_SHARE * self._took_s, _LONGEST_S), _BLURRED_S if self.is_blurred else 0.0)
        return passed_s >= least and not self.is_behind
