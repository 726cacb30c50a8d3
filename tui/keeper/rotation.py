"""Rotation of a log under its living writer: older lines move to compressed segments, the newest stay.

The writer keeps its descriptor and isn't signalled, paused or piped. In this order, each step durable before the next:
a segment is written; the journal says so; a hole is punched over what the segment holds; the journal says so; the hole
is collapsed; the journal says so. Killed anywhere, the next one finds out where it was (`log_journal.base_now`) and
goes on: not one byte is lost or repeated.

`python -m tui.keeper.rotation LAUNCH_DIRECTORY LIMIT_BYTES [TOTAL_BYTES]` does it alone, until it is interrupted.
"""

from __future__ import annotations

import contextlib
import fcntl
import math
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tui.keeper import holes
from tui.keeper.log_journal import Journal, Segment, base_now, read_journal, segment_name, write_journal
from tui.keeper.segment_file import write_segment
from tui.keeper.steps import step

ROTATION_STEPS = (
    "rotation-begins",  # nothing has been done
    "rotation-archived",  # the segment is on disk, the journal doesn't know it
    "rotation-recorded",  # the journal knows it, the log still holds its bytes
    "rotation-punched",  # they are gone from the log, the journal doesn't know it
    "rotation-collapses",  # the journal knows it, the hole is still there
    "rotation-collapsed",  # the log begins with what is not archived, the journal doesn't know it
    "rotation-prunes",  # the journal has forgotten a segment that is still there
)

_LEAST_LOG_BYTES = 256 * 1024
_KEPT_PART = 8  # an eighth of the limit stays in the log; the more, the longer a writer waits for the collapse
_SEGMENT_BYTES = 256 << 20
_RETRY_S = 60.0
_TIDY_S = 600.0
_STEP_S = 0.05
_NICE = 10


@dataclass(frozen=True)
class LogLimits:
    """How much of a log is kept.

    Attributes:
        log_bytes: `server.log` may grow to so much before its older lines are moved.
        total_bytes: all files of the log together, on disk.
        age_s: a segment is deleted when it is older.
    """

    log_bytes: int = 256 << 20
    total_bytes: int = 8 << 30
    age_s: float = 30 * 86400.0


class Rotator:
    """Keeps one log within its limits."""

    def __init__(self, log: Path, limits: LogLimits) -> None:
        self._log = log
        self._limits = replace(limits, log_bytes=max(limits.log_bytes, _LEAST_LOG_BYTES))
        self._hidden_bytes = 0  # the hole at the head, where it can't be collapsed
        self._news: deque[dict[str, Any]] = deque()
        self._told: set[str] = set()
        self._thread: threading.Thread | None = None
        self._not_before = 0.0
        self._tidied_at = -_TIDY_S

    def look(self) -> list[dict[str, Any]]:
        """Called again and again: starts what is to be done in a thread of its own; what it has to tell since."""
        is_working = self._thread is not None and self._thread.is_alive()
        if not is_working and time.monotonic() >= self._not_before and self._is_due():
            self._tidied_at = time.monotonic()
            self._thread = threading.Thread(target=self._work, name="rotate-log", daemon=True)
            self._thread.start()
        return self._all_news()

    def finish(self, limit_s: float) -> list[dict[str, Any]]:
        """Wait for what is under way; what it had to tell."""
        if self._thread is not None:
            self._thread.join(limit_s)
        return self._all_news()

    def rotate(self) -> None:
        """Finish what an earlier one has begun, then bring the log within its limits.

        Raises:
            OSError: no space, or the files can't be written; the log goes on as it is, and nothing is lost.
            ValueError: the journal isn't ours.
        """
        with self._opened() as fd:
            if fd is None:
                return
            journal = self._finish(fd, read_journal(self._log))
            while self._is_too_large(fd, journal):
                journal = self._with_way(journal)
                if journal.way == holes.NONE:
                    self._not_before = math.inf
                    return
                journal = self._archive(fd, journal)
            self._prune(fd, journal)

    def _all_news(self) -> list[dict[str, Any]]:
        return [self._news.popleft() for _ in range(len(self._news))]

    def _work(self) -> None:
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)  # of this thread alone
        try:
            self.rotate()
        except (OSError, ValueError) as error:
            self._not_before = time.monotonic() + _RETRY_S
            words = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            self._tell_once("log-not-rotated", why=words)

    def _is_due(self) -> bool:
        """The log is too large by a look at its size, or it is time to look for old segments."""
        try:
            size = self._log.stat().st_size
        except OSError:  # not there yet, or not any more
            return False
        is_time = time.monotonic() - self._tidied_at >= _TIDY_S
        return is_time or size - self._hidden_bytes > self._limits.log_bytes

    @contextlib.contextmanager
    def _opened(self) -> Iterator[int | None]:
        """The log, locked against another rotator; None when there is nothing to do for us."""
        try:
            fd = os.open(self._log, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            yield None
            return
        try:
            yield fd if _lock(fd) else None
        finally:
            os.close(fd)

    def _is_too_large(self, fd: int, journal: Journal) -> bool:
        self._hidden_bytes = journal.archived - base_now(journal, fd)
        least = 2 * holes.block_bytes(fd)  # something must stay behind what is collapsed
        return os.fstat(fd).st_size - self._hidden_bytes > max(self._limits.log_bytes, least)

    def _with_way(self, journal: Journal) -> Journal:
        if journal.way:
            return journal
        way = holes.ability(self._log.parent)
        if way == holes.NONE:
            self._tell_once("log-kept-whole", why="its file system can't give back the head of a file that is in use")
        journal = replace(journal, way=way)
        write_journal(self._log, journal)
        return journal

    def _archive(self, fd: int, journal: Journal) -> Journal:
        """Move the older lines, in whole blocks, to a new segment."""
        step("rotation-begins")
        hidden = journal.archived - base_now(journal, fd)
        block = holes.block_bytes(fd)
        size = os.fstat(fd).st_size - hidden - self._limits.log_bytes // _KEPT_PART
        size = max(block, min(size, _SEGMENT_BYTES) // block * block)
        path = self._log.with_name(segment_name(self._log, journal.last_number + 1))
        packed = write_segment(fd, hidden, size, path)
        step("rotation-archived")
        journal = journal.with_segment(Segment(path.name, journal.archived, size, packed, time.time()))
        write_journal(self._log, journal)
        step("rotation-recorded")
        self._news.append({"event": "log-archived", "file": path.name, "log_bytes": size, "file_bytes": packed})
        return self._finish(fd, journal)

    def _finish(self, fd: int, journal: Journal) -> Journal:
        """From wherever the journal says that it was, to where nothing is under way."""
        base = base_now(journal, fd)
        if base != journal.base:
            journal = replace(journal, base=base)
            write_journal(self._log, journal)
        if journal.archived == journal.base:
            return journal
        if journal.punching:
            holes.punch(fd, journal.archived - journal.base)
            holes.write_out(fd)
            os.fsync(fd)
            step("rotation-punched")
            journal = replace(journal, punching=False)
            write_journal(self._log, journal)
        return self._collapse(fd, journal) if journal.way == holes.COLLAPSE else journal

    def _collapse(self, fd: int, journal: Journal) -> Journal:
        step("rotation-collapses")
        holes.write_out(fd)  # what the kernel still had to write, the writer would have to wait for
        try:
            holes.collapse(fd, journal.archived - journal.base)
        except OSError as error:
            if not holes.is_unsupported(error):
                raise
            journal = replace(journal, way=holes.PUNCH)
        else:
            step("rotation-collapsed")
            journal = replace(journal, base=journal.archived)
        write_journal(self._log, journal)
        return journal

    def _prune(self, fd: int, journal: Journal) -> None:
        """Delete the oldest segments that are too much or too old, and those that an earlier one has forgotten."""
        kept = list(journal.segments)
        room = self._limits.total_bytes - os.fstat(fd).st_blocks * 512
        while kept and (sum(one.packed for one in kept) > room or time.time() - kept[0].at > self._limits.age_s):
            kept.pop(0)
        deleted = journal.segments[: len(journal.segments) - len(kept)]
        if deleted:
            write_journal(self._log, replace(journal, segments=kept))
            step("rotation-prunes")
            self._news.append({"event": "log-deleted", "files": [one.name for one in deleted]})
        self._remove_forgotten(journal.last_number, {one.name for one in kept})

    def _remove_forgotten(self, last_number: int, kept: set[str]) -> None:
        for number in range(last_number, 0, -1):
            name = segment_name(self._log, number)
            if name not in kept:
                try:
                    self._log.with_name(name).unlink()
                except FileNotFoundError:
                    break  # those before it went earlier

    def _tell_once(self, event: str, **fields: Any) -> None:
        news = {"event": event, **fields}
        if str(news) not in self._told:
            self._told.add(str(news))
            self._news.append(news)


def _lock(fd: int) -> bool:
    """Until the descriptor is closed, however that comes."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def main(arguments: Sequence[str]) -> int:
    """Rotate the log of one launch until interrupted."""
    directory, limit, *rest = arguments
    total = int(rest[0]) if rest else sys.maxsize
    rotator = Rotator(Path(directory) / "server.log", LogLimits(int(limit), total, math.inf))
    while True:
        rotator.rotate()
        time.sleep(_STEP_S)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
