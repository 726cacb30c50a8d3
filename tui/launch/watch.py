"""A detective kept at the end of a log that grows, which reads so much at a time that nobody waits for it."""

from __future__ import annotations

from datetime import datetime

from msgspec.structs import replace

from tui.diagnosis.detective import Detective
from tui.diagnosis.diagnosis import Diagnosis
from tui.launch.explain import Case, Explained, judge
from tui.logs.follow import Follower

_SILENCE_STEP_S = 10  # silence is judged in tens of seconds


class LogWatch:
    """Follows one log; the log needn't exist yet.

    Args:
        case: what is known of the launch.

    Attributes:
        is_behind: there is more to read than the last look took.
    """

    def __init__(self, case: Case) -> None:
        self.is_behind = False
        self._case = case
        self._follower = Follower(case.log)
        self._detective = Detective(case.release)
        self._judged: tuple[object, Diagnosis] | None = None
        self._closed_at = b""

    @property
    def done(self) -> float:
        """How much of the log was read, from 0 to 1."""
        return self._follower.done if self.is_behind else 1.0

    def catch_up(self, limit_bytes: int | None = None) -> Explained:
        """Read what is new, about `limit_bytes` of it at most, and say what is the matter now.

        Raises:
            SgltuiError: the log can't be read.
        """
        read = 0
        self.is_behind = True
        while self.is_behind and (limit_bytes is None or read < limit_bytes):
            chunk = self._follower.poll()
            if chunk.reset:
                self._detective = Detective(self._case.release)
            self._detective.feed_lines(chunk.lines)
            read += sum(map(len, chunk.lines)) or 1
            self.is_behind = chunk.more
        self._read_last_line()
        return Explained(self._case, self._judge(), self._detective)

    def update(self, case: Case) -> None:
        """What is known now of the end, or of the moment, of the same launch."""
        self._case = case

    def close(self) -> None:
        """Let go of the log."""
        self._follower.close()

    def _read_last_line(self) -> None:
        """Nobody will end the last line of a server that is gone."""
        partial = self._follower.partial
        is_over = self._case.ending.now is None
        if is_over and not self.is_behind and partial and partial != self._closed_at:
            self._closed_at = partial
            self._detective.feed_lines((partial,))

    def _judge(self) -> Diagnosis:
        """The same question isn't thought through again: numbers take a plan of the launch."""
        ending = self._case.ending
        key = (self._detective.line_count, replace(ending, now=None), _step(ending.now))
        if self._judged is None or self._judged[0] != key:
            self._judged = key, judge(self._detective, self._case)
        return self._judged[1]


def _step(now: datetime | None) -> int | None:
    return None if now is None else int(now.timestamp()) // _SILENCE_STEP_S
