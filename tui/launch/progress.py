"""Reading how far a launch has come from its log, as far as it has grown."""

from __future__ import annotations

import re
from contextlib import closing
from pathlib import Path

from tui.diagnosis.stages import StageTracker
from tui.logs.file import LogFile
from tui.logs.follow import Follower
from tui.units import MIB

# Starts log some 100 kB, with the worst crash dump a few MiB; a log that is larger ended long after its start, and
# what ended it stands at its end.
_WHOLE_BYTES = 8 * MIB
_STAMP = re.compile(rb"\[\d{4}-\d\d-\d\d ")


class ProgressReader:
    """A stage tracker kept at the end of one log. The log needn't exist yet."""

    def __init__(self, path: Path) -> None:
        self._follower = Follower(path, _start(path))
        self._tracker = StageTracker()

    def catch_up(self) -> StageTracker:
        """Feed what is new, and give the tracker."""
        more = True
        while more:
            chunk = self._follower.poll()
            if chunk.reset:
                self._tracker = StageTracker()
            for line in chunk.lines:
                self._feed(line)
            more = chunk.more
        # A bar's newest state counts at once. A message doesn't before its line is complete: it would count twice.
        if not _STAMP.search(self._follower.partial):
            self._feed(self._follower.partial)
        return self._tracker

    def close(self) -> None:
        """Let go of the log."""
        self._follower.close()

    def _feed(self, line: bytes) -> None:
        self._tracker.feed(line.decode(errors="replace"))


def _start(path: Path) -> int:
    log = LogFile.open(path)
    if log is None:
        return 0
    with closing(log):
        return 0 if log.size() <= _WHOLE_BYTES else log.size() - _WHOLE_BYTES
