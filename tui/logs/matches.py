"""The lines of a log that pass a sieve, counted and numbered; read from the file when they are asked for.

A large log is looked through from where a person is, both ways, so that what they look at is there at once.
"""

from __future__ import annotations

import threading
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from operator import neg
from pathlib import Path

from tui.logs.file import LogFile
from tui.logs.lines import shorten
from tui.logs.search import LINE_BYTES, blocks_before, blocks_from, line_begin
from tui.logs.sieve import Sieve

_PIECE_BYTES = 32 * 1024  # what is looked through again for each line that is shown, where few lines pass
_SHOWN_BYTES = 64 * 1024


class _Side:
    """What was looked through on one side of a place.

    Attributes:
        edges: the place, and the far edge of each piece that was looked through.
        totals: how many lines pass up to each of them.
    """

    def __init__(self, place: int) -> None:
        self.edges = array("Q", [place])
        self.totals = array("Q", [0])

    def add(self, edge: int, passing: int) -> None:
        self.edges.append(edge)
        self.totals.append(self.totals[-1] + passing)


class MatchIndex:
    """Complete lines that pass, numbered from 0. Its memory is two numbers for each 32 to 256 KiB of log.

    One thread at a time looks through the log by `update`; others may call the other methods meanwhile. Lines that were
    found above those that are known get numbers when `adopt` is called, and no sooner: no number changes in between. It
    knows nothing of truncation: whoever learns of it from the log's own index makes a new one.

    Args:
        place: offset to begin at, or None for the end of the log.

    Attributes:
        sieve: what lets lines pass.
        unfinished: never; a line counts when it is complete.
        generation: always the same.
    """

    unfinished = False
    generation = 0

    def __init__(self, path: Path, sieve: Sieve, place: int | None) -> None:
        self.path = path
        self.sieve = sieve
        self._lock = threading.Lock()
        self._updating = threading.Lock()
        self._file = LogFile.open(path)
        self._searched = LogFile.open(path)  # by another thread: a log that is open serves one at a time
        begin = 0
        if self._file is not None:
            begin = line_begin(self._file, self._file.size() if place is None else max(place, self._file.start))
        self._above, self._below = _Side(begin), _Side(begin)
        self._adopted = 0  # pieces above that have numbers
        self._unfinished_end = begin  # up to here there is nothing complete that wasn't looked through

    @property
    def count(self) -> int:
        """Lines that pass and have numbers."""
        with self._lock:
            return self._known_above + self._below.totals[-1]

    @property
    def found(self) -> int:
        """Lines that pass, as far as the log was looked through."""
        with self._lock:
            return self._above.totals[-1] + self._below.totals[-1]

    @property
    def done(self) -> float:
        """How much of the log was looked through, from 0 to 1."""
        with self._lock:
            if self._file is None:
                return 1.0
            start, size = self._file.start, self._file.size()
            lower = self._unfinished_end if size <= self._unfinished_end else self._below.edges[-1]
            return min(1.0, (lower - self._above.edges[-1]) / (size - start)) if size > start else 1.0

    @property
    def behind_bytes(self) -> int:
        """How much at the end of the log wasn't looked through."""
        with self._lock:
            return max(0, self._file.size() - self._below.edges[-1]) if self._file is not None else 0

    def update(self) -> bool:
        """Look through the next 256 KiB on either side; whether there was anything new."""
        with self._updating:
            return any([self._look_down(), self._look_up()])

    def adopt(self) -> int:
        """Number what was found above; how many lines that is, by which all other numbers grow."""
        with self._lock:
            before = self._known_above
            self._adopted = len(self._above.edges) - 1
            return self._known_above - before

    def read(self, first: int, count: int) -> list[bytes]:
        """Passing lines `first` to `first + count - 1`, as many as there are."""
        return [line for _, line in self.entries(first, count)]

    def entries(self, first: int, count: int) -> list[tuple[int, bytes]]:
        """The same with the offset of each."""
        with self._lock:
            found: list[tuple[int, bytes]] = []
            while self._file is not None and len(found) < count and 0 <= first < self._count:
                begin, end, number = self._piece_of(first)
                passing = list(self._passing(self._file, begin, end))[first - number :]
                if not passing:  # the file isn't any more what it was; the log's own index finds that out
                    break
                found += passing
                first += len(passing)
            return found[:count]

    def covers(self, offset: int) -> bool:
        """What is at an offset was looked through, and has a number if it passes."""
        with self._lock:
            return self._above.edges[self._adopted] <= offset < self._below.edges[-1]

    def offset_of(self, line: int) -> int | None:
        """Where a passing line begins, or None when there is no such line."""
        found = self.entries(line, 1)
        return found[0][0] if found else None

    def line_at(self, offset: int) -> int:
        """Number of the first passing line that begins at `offset` or later: how many begin before."""
        with self._lock:
            below, above, known = self._below, self._above, self._known_above
            if self._file is None or offset >= below.edges[-1]:
                return self._count
            if offset >= below.edges[0]:
                piece = bisect_right(below.edges, offset) - 1
                begin, end, number = below.edges[piece], below.edges[piece + 1], known + below.totals[piece]
            else:
                piece = bisect_left(above.edges, -offset, key=neg)
                if piece > self._adopted:
                    return 0
                begin, end, number = above.edges[piece], above.edges[piece - 1], known - above.totals[piece]
            return number + sum(at < offset for at, _ in self._passing(self._file, begin, end))

    def close(self) -> None:
        """Let go of the file; an update in another thread ends at its next step."""
        with self._lock:
            self._file = self._searched = None

    @property
    def _known_above(self) -> int:
        return self._above.totals[self._adopted]

    @property
    def _count(self) -> int:
        return self._known_above + self._below.totals[-1]

    def _look_down(self) -> bool:
        file, edge = self._searched, self._below.edges[-1]
        offset, data = next(blocks_from(file, edge), (edge, b"")) if file is not None else (edge, b"")
        if not data.endswith(b"\n") and len(data) < LINE_BYTES:
            self._unfinished_end = offset + len(data)
            return False
        pieces = list(self._counted(offset, data))
        with self._lock:
            for _, end, passing in pieces:
                self._below.add(end, passing)
        return True

    def _look_up(self) -> bool:
        file, edge = self._searched, self._above.edges[-1]
        offset, data = next(blocks_before(file, edge), (edge, b"")) if file is not None else (edge, b"")
        if not data:
            return False
        pieces = list(self._counted(offset, data))
        with self._lock:
            for begin, _, passing in reversed(pieces):
                self._above.add(begin, passing)
        return True

    def _counted(self, offset: int, data: bytes) -> Iterator[tuple[int, int, int]]:
        """Begin, end and number of passing lines of each piece; it is all one where no line may pass."""
        if not self.sieve.may_hold(data):
            yield offset, offset + len(data), 0
            return
        at = 0
        while at < len(data):
            end = data.find(b"\n", at + _PIECE_BYTES) + 1 or len(data)
            lines = data[at:end].removesuffix(b"\n").split(b"\n")
            yield offset + at, offset + end, sum(map(self.sieve.matches, lines))
            at = end

    def _piece_of(self, line: int) -> tuple[int, int, int]:
        """Begin and end of the piece that holds a passing line, and the number of the first one in it."""
        known = self._known_above
        if line >= known:
            side = self._below
            piece = bisect_right(side.totals, line - known) - 1
            return side.edges[piece], side.edges[piece + 1], known + side.totals[piece]
        side = self._above
        piece = bisect_right(side.totals, known - 1 - line) - 1
        return side.edges[piece + 1], side.edges[piece], known - side.totals[piece + 1]

    def _passing(self, file: LogFile, begin: int, end: int) -> Iterator[tuple[int, bytes]]:
        at = begin
        for line in file.read(begin, end - begin).removesuffix(b"\n").split(b"\n"):
            if self.sieve.matches(line):
                yield at, line if len(line) <= _SHOWN_BYTES else shorten(line, line, len(line))
            at += len(line) + 1
