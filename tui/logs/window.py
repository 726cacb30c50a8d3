"""What a viewer can show of a log at once: all of it, or its end until the rest has been counted."""

from __future__ import annotations

from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Thread

from tui.errors import SgltuiError
from tui.logs.file import LogFile
from tui.logs.follow import tail_offset
from tui.logs.index import LineIndex
from tui.logs.matches import MatchIndex
from tui.logs.sieve import Sieve
from tui.units import MIB

BUDGET_BYTES = 8 * MIB
"""As much is counted on the viewer's own thread in one refresh: about 10 ms."""

_TAIL_LINES = 1000
_TAIL_BYTES = MIB


@dataclass(frozen=True, slots=True)
class Change:
    """What a refresh found.

    Attributes:
        changed: anything at all.
        shift: line N of before has the number `N + shift` now.
        restarted: the lines are those of a new file, or of the same one without its head.
        trimmed: the oldest lines were deleted.
    """

    changed: bool
    shift: int = 0
    restarted: bool = False
    trimmed: bool = False


class LogWindow:
    """The lines of one log for one viewer, however large the log is when it is opened.

    All calls come from the viewer's thread; counting what is too much for it goes on in a thread of our own.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._whole = LineIndex(path)
        self._tail: LineIndex | None = None
        self._counter: Thread | None = None  # while it lives, the whole index is its own
        self._matches: MatchIndex | None = None
        self._looker: Thread | None = None
        self._seen = (-1, -1)

    @property
    def lines(self) -> LineIndex | MatchIndex:
        """The lines to show, numbered from 0: those of the whole log, or of its end, or those that pass the sieve."""
        return self._matches or self.index

    @property
    def index(self) -> LineIndex:
        """All lines of the log, or of its end."""
        return self._tail or self._whole

    @property
    def looked_through(self) -> float:
        """How much of the log has gone through the sieve, from 0 to 1."""
        return self._matches.done if self._matches is not None else 1.0

    def show_only(self, sieve: Sieve | None) -> None:
        """Show the lines that pass, or all."""
        if self._matches is not None:
            self._matches.close()
        self._matches = MatchIndex(self.path, sieve) if sieve is not None else None

    @property
    def is_whole(self) -> bool:
        """Whether `lines` are those of the whole log."""
        return self._tail is None

    def refresh(self, *, at_end: bool) -> Change:
        """Look at the file.

        Args:
            at_end: the viewer wants the newest lines: they are shown even when counting lags behind.
        """
        change = self._refresh(at_end=at_end)
        return change if self._matches is None else self._sift(self._matches, change)

    def _sift(self, matches: MatchIndex, change: Change) -> Change:
        if change.restarted or change.trimmed:
            self.show_only(matches.sieve)
            return Change(changed=True, restarted=True)
        if self._looker is not None and self._looker.is_alive():
            return Change(changed=True)
        changed = matches.update()
        if changed and matches.done < 1:
            self._looker = Thread(target=_look_through, args=(matches,), name="sift-log-lines", daemon=True)
            self._looker.start()
        return Change(changed)

    def _refresh(self, *, at_end: bool) -> Change:
        lines = self.index
        generation, count, trimmed = lines.generation, lines.count, lines.trimmed
        changed = lines.update(BUDGET_BYTES)
        if lines.generation != generation:
            self._keep(lines)
            return Change(changed=True, shift=lines.count - count if lines.head_cut else 0, restarted=True)
        if lines.trimmed != trimmed:
            return Change(changed=True, shift=trimmed - lines.trimmed, trimmed=True)
        if self._tail is not None:
            return self._join(self._tail, changed=changed)
        if at_end and lines.behind_bytes:
            return self._open_tail()
        return Change(changed)

    def has_news(self) -> bool:
        """Whether a refresh would find anything: another file, another size, or counting that goes on."""
        try:
            status = self.path.stat()
            seen = (status.st_ino, status.st_size)
        except OSError:
            seen = (0, 0)
        is_busy = self._tail is not None or self.index.behind_bytes > 0 or self.looked_through < 1
        is_new, self._seen = seen != self._seen, seen
        return is_new or is_busy

    def size(self) -> int:
        """Offset behind the last byte of the log, now."""
        file = LogFile.open(self.path)
        if file is None:
            return 0
        with closing(file):
            return file.size()

    def close(self) -> None:
        """Let go of the file."""
        self._whole.close()
        for other in (self._tail, self._matches):
            if other is not None:
                other.close()

    def _keep(self, lines: LineIndex) -> None:
        """Forget the index that is not `lines`, which began anew at the head of the file and so is the whole one."""
        if lines is not self._whole:
            self._whole.close()
        self._whole, self._tail, self._counter = lines, None, None

    def _open_tail(self) -> Change:
        file = LogFile.open(self.path)
        if file is None:
            return Change(changed=True)
        with closing(file):
            self._tail = LineIndex(self.path, tail_offset(file, _TAIL_LINES, _TAIL_BYTES))
        self._tail.update(BUDGET_BYTES)
        self._count()
        return Change(changed=True)

    def _count(self) -> None:
        self._counter = Thread(target=_count_all, args=(self._whole,), name="count-log-lines", daemon=True)
        self._counter.start()

    def _join(self, tail: LineIndex, *, changed: bool) -> Change:
        """Go over to the whole index when it has caught up."""
        if self._counter is not None and self._counter.is_alive():
            return Change(changed)
        self._whole.update(BUDGET_BYTES)
        if self._whole.behind_bytes:
            self._count()
            return Change(changed)
        shift = self._whole.line_at(tail.start)
        tail.close()
        self._tail = self._counter = None
        return Change(changed=True, shift=shift)


def _look_through(matches: MatchIndex) -> None:
    with suppress(SgltuiError):  # as below
        while matches.update():
            pass


def _count_all(lines: LineIndex) -> None:
    with suppress(SgltuiError):  # the viewer's next refresh meets it too, where it can be shown
        while lines.update(BUDGET_BYTES) and lines.behind_bytes:
            pass
