"""What a viewer can show of a log at once: all of it, or its end until the rest has been counted."""

from __future__ import annotations

from contextlib import closing, suppress
from pathlib import Path
from threading import Event, Thread

from msgspec import Struct
from msgspec.structs import replace

from tui.errors import SgltuiError
from tui.logs.file import LogFile
from tui.logs.index import LineIndex
from tui.logs.matches import MatchIndex
from tui.logs.search import line_begin
from tui.logs.sieve import Sieve
from tui.units import MIB

BUDGET_BYTES = 4 * MIB
"""As much is counted on the viewer's own thread in one refresh: some 5 ms."""

_AHEAD_BYTES = MIB  # of a part from the middle, in one refresh
_LATE_BYTES = 16 * MIB  # more than this is not followed, but begun anew from the end
_ABOVE_BYTES = 2 * MIB  # nobody gets through 20,000 lines before the rest is counted


class Change(Struct, frozen=True):
    """What a refresh found.

    Attributes:
        changed: anything at all.
        shift: line N of before has the number `N + shift` now.
        restarted: the lines are those of a new file, or of the same one without its head.
        trimmed: the oldest lines were deleted.
        moved: the lines are those of another part of the log.
    """

    changed: bool
    shift: int = 0
    restarted: bool = False
    trimmed: bool = False
    moved: bool = False


class LogWindow:
    """The lines of one log for one viewer, however large the log is when it is opened.

    Of a log that isn't counted yet a part is shown: its end, or what is around a place that the viewer goes to. All
    calls come from the viewer's thread; counting what is too much for it goes on in a thread of our own.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._whole = LineIndex(path)
        self._part: LineIndex | None = None
        self._counter: Thread | None = None  # while it lives, the whole index is its own
        self._matches: MatchIndex | None = None
        self._looker: Thread | None = None
        self._may_work = Event()  # both of these threads
        self._may_work.set()
        self._seen = (-1, -1)

    @property
    def lines(self) -> LineIndex | MatchIndex:
        """The lines to show, numbered from 0: those of the log, or of a part of it, or those that pass the sieve."""
        return self._matches or self.index

    @property
    def index(self) -> LineIndex:
        """All lines of the log, or of a part of it."""
        return self._part or self._whole

    @property
    def is_whole(self) -> bool:
        """Whether `index` is that of the whole log."""
        return self._part is None

    @property
    def looked_through(self) -> float:
        """How much of the log has gone through the sieve, from 0 to 1."""
        return self._matches.done if self._matches is not None else 1.0

    @property
    def found(self) -> int:
        """Lines that pass the sieve, as far as it is known."""
        return self._matches.found if self._matches is not None else self.index.count

    def show_only(self, sieve: Sieve | None, place: int | None = None) -> None:
        """Show the lines that pass, or all; they are looked for from this offset on both ways, or from the end up."""
        if self._matches is not None:
            self._matches.close()
        self._matches = MatchIndex(self.path, sieve, place) if sieve is not None else None
        self._looker = None

    def reach(self, offset: int) -> bool:
        """Have the line at an offset among `lines`; whether these are others now."""
        if self._matches is not None and not self._matches.covers(offset):
            self.show_only(self._matches.sieve, offset)
            return True
        if self._matches is not None or self.index.covers(offset) or (self._part is None and not self._is_behind()):
            return False
        return self._show_part(offset)

    def offset_of(self, number: int) -> int | None:
        """Where a line of the log begins, by its number in the whole log; None while that isn't counted."""
        return self._whole.offset_of(number)

    def refresh(self, *, at_end: bool, near_top: bool = False) -> Change:
        """Look at the file.

        Args:
            at_end: the viewer wants the newest lines: they are shown even when counting lags behind.
            near_top: the viewer is about to run out of lines above.
        """
        change = self._refresh(at_end=at_end)
        if self._matches is None:
            return change
        if change.restarted or change.trimmed or (at_end and self._matches.behind_bytes > _LATE_BYTES):
            self.show_only(self._matches.sieve)
            return replace(change, changed=True, shift=0, moved=True)
        return self._sift(self._matches, near_top=near_top)

    def _sift(self, matches: MatchIndex, *, near_top: bool) -> Change:
        is_busy = self._looker is not None and self._looker.is_alive()
        changed = is_busy or matches.update()
        if changed and not is_busy and matches.done < 1:
            self._looker = Thread(
                target=_look_through, args=(matches, self._may_work), name="sift-log-lines", daemon=True
            )
            self._looker.start()
        # Not with each refresh: all that is in view would be painted again.
        shift = matches.adopt() if near_top or matches.done >= 1 else 0
        return Change(changed or bool(shift), shift=shift)

    def _refresh(self, *, at_end: bool) -> Change:
        lines = self.index
        generation, count, trimmed = lines.generation, lines.count, lines.trimmed
        changed = lines.update(BUDGET_BYTES if at_end or self._part is None else _AHEAD_BYTES)
        if lines.generation != generation:
            self._keep(lines)
            return Change(changed=True, shift=lines.count - count if lines.head_cut else 0, restarted=True)
        if lines.trimmed != trimmed:
            return Change(changed=True, shift=trimmed - lines.trimmed, trimmed=True)
        if self._part is not None and (shift := self._join(self._part)) is not None:
            return Change(changed=True, shift=shift)
        if at_end and self.index.behind_bytes:
            return Change(changed=True, moved=self._show_part(None))
        return Change(changed)

    def has_news(self) -> bool:
        """Whether a refresh would find anything: another file, another size, or counting that goes on."""
        try:
            status = self.path.stat()
            seen = (status.st_ino, status.st_size)
        except OSError:
            seen = (0, 0)
        is_busy = self._part is not None or self.index.behind_bytes > 0 or self.looked_through < 1
        is_new, self._seen = seen != self._seen, seen
        return is_new or is_busy

    def hold(self, *, held: bool) -> None:
        """Count nothing in the background while a person waits for something else, or go on."""
        if held:
            self._may_work.clear()
        else:
            self._may_work.set()

    def start(self) -> int:
        """Offset of the oldest byte that is kept."""
        return self.bounds()[0]

    def size(self) -> int:
        """Offset behind the last byte of the log, now."""
        return self.bounds()[1]

    def bounds(self) -> tuple[int, int]:
        """Both of them."""
        file = LogFile.open(self.path)
        if file is None:
            return 0, 0
        with closing(file):
            return file.start, file.size()

    def close(self) -> None:
        """Let go of the file."""
        self._may_work.set()
        self._whole.close()
        for other in (self._part, self._matches):
            if other is not None:
                other.close()

    def _keep(self, lines: LineIndex) -> None:
        """Forget the index that is not `lines`, which began anew at the head of the file and so is the whole one."""
        if lines is not self._whole:
            self._whole.close()
        self._whole, self._part, self._counter = lines, None, None

    def _is_behind(self) -> bool:
        self._whole.update(BUDGET_BYTES)
        return self._whole.behind_bytes > 0

    def _show_part(self, offset: int | None) -> bool:
        """Show what is around an offset, or the end, until all is counted."""
        file = LogFile.open(self.path)
        if file is None:
            return False
        with closing(file):
            start = line_begin(file, max(file.start, (file.size() if offset is None else offset) - _ABOVE_BYTES))
        if self._part is not None:
            self._part.close()
        self._part = LineIndex(self.path, start)
        self._part.update(BUDGET_BYTES)
        if self._counter is None:
            self._count()
        return True

    def _count(self) -> None:
        self._counter = Thread(
            target=_count_all, args=(self._whole, self._may_work), name="count-log-lines", daemon=True
        )
        self._counter.start()

    def _join(self, part: LineIndex) -> int | None:
        """Go over to the whole index when it has caught up; by how much the numbers grow."""
        if self._counter is not None and self._counter.is_alive():
            return None
        self._whole.update(BUDGET_BYTES)
        if self._whole.behind_bytes:
            self._count()
            return None
        shift = self._whole.line_at(part.start)
        part.close()
        self._part = self._counter = None
        return shift


def _look_through(matches: MatchIndex, may_work: Event) -> None:
    with suppress(SgltuiError):  # as below
        while may_work.wait() and matches.update():
            pass


def _count_all(lines: LineIndex, may_work: Event) -> None:
    with suppress(SgltuiError):  # the viewer's next refresh meets it too, where it can be shown
        while may_work.wait() and lines.update(BUDGET_BYTES) and lines.behind_bytes:
            pass
