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
    """

    changed: bool
    shift: int = 0
    restarted: bool = False


class LogWindow:
    """The lines of one log for one viewer, however large the log is when it is opened.

    All calls come from the viewer's thread; counting what is too much for it goes on in a thread of our own.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._whole = LineIndex(path)
        self._tail: LineIndex | None = None
        self._counter: Thread | None = None  # while it lives, the whole index is its own

    @property
    def lines(self) -> LineIndex:
        """The lines to show, numbered from 0: those of the whole log, or of its end."""
        return self._tail or self._whole

    @property
    def is_whole(self) -> bool:
        """Whether `lines` are those of the whole log."""
        return self._tail is None

    def refresh(self, *, at_end: bool) -> Change:
        """Look at the file.

        Args:
            at_end: the viewer wants the newest lines: they are shown even when counting lags behind.
        """
        lines, generation, count = self.lines, self.lines.generation, self.lines.count
        changed = lines.update(BUDGET_BYTES)
        if lines.generation != generation:
            self._keep(lines)
            return Change(changed=True, shift=lines.count - count if lines.head_cut else 0, restarted=True)
        if self._tail is not None:
            return self._join(self._tail, changed=changed)
        if at_end and lines.behind_bytes:
            return self._open_tail()
        return Change(changed)

    def close(self) -> None:
        """Let go of the file."""
        self._whole.close()
        if self._tail is not None:
            self._tail.close()

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


def _count_all(lines: LineIndex) -> None:
    with suppress(SgltuiError):  # the viewer's next refresh meets it too, where it can be shown
        while lines.update(BUDGET_BYTES) and lines.behind_bytes:
            pass
