"""The lines of a log that pass a sieve, counted and numbered; read from the file when they are asked for."""

from __future__ import annotations

import threading
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path

from tui.logs.file import LogFile
from tui.logs.lines import shorten
from tui.logs.search import blocks_from
from tui.logs.sieve import Sieve

_BLOCKS_AT_ONCE = 4  # 1 MiB: a viewer that waits for it doesn't notice
_LINE_BYTES = 64 * 1024


class MatchIndex:
    """Complete lines that pass, numbered from 0. Its memory is two numbers for each 256 KiB of log.

    One thread calls `update`, others may read meanwhile. It knows nothing of truncation: whoever learns of it from the
    log's own index makes a new one.

    Attributes:
        sieve: what lets lines pass.
        count: lines that pass, as far as the log was looked through.
        unfinished: never; a line counts when it is complete.
        generation: always the same.
    """

    unfinished = False
    generation = 0

    def __init__(self, path: Path, sieve: Sieve, start: int = 0) -> None:
        self.path = path
        self.sieve = sieve
        self.count = 0
        self._lock = threading.Lock()
        self._file = LogFile.open(path)
        begin = max(start, self._file.start) if self._file is not None else start
        self._begins = array("Q", [begin])  # where each block begins, and where the next one will
        self._before = array("Q", [0])  # matches before it

    @property
    def done(self) -> float:
        """How much of the log was looked through, from 0 to 1."""
        with self._lock:
            if self._file is None:
                return 1.0
            begin = self._begins[0]
            return (self._begins[-1] - begin) / max(1, self._file.size() - begin)

    def update(self) -> bool:
        """Look through the next 1 MiB; whether there was anything new."""
        with self._lock:
            if self._file is None:
                return False
            known = self._begins[-1]
            blocks = blocks_from(self._file, known)
            for _, (offset, data) in zip(range(_BLOCKS_AT_ONCE), blocks, strict=False):
                if not data.endswith(b"\n"):
                    break
                self._count(offset + len(data), data)
            return self._begins[-1] > known

    def read(self, first: int, count: int) -> list[bytes]:
        """Passing lines `first` to `first + count - 1`, as many as there are."""
        return [line for _, line in self.entries(first, count)]

    def entries(self, first: int, count: int) -> list[tuple[int, bytes]]:
        """The same with the offset of each."""
        with self._lock:
            if self._file is None or not 0 <= first < self.count:
                return []
            block = bisect_right(self._before, first) - 1
            skipped = first - self._before[block]
            found: list[tuple[int, bytes]] = []
            while len(found) < skipped + count and block < len(self._before) - 1:
                if self._before[block + 1] > self._before[block]:
                    found += self._passing(self._file, block)
                block += 1
            return found[skipped : skipped + count]

    def covers(self, offset: int) -> bool:
        """The log was looked through up to there, and beyond."""
        with self._lock:
            return offset < self._begins[-1]

    def offset_of(self, line: int) -> int | None:
        """Where a passing line begins, or None when there is no such line."""
        found = self.entries(line, 1)
        return found[0][0] if found else None

    def line_at(self, offset: int) -> int:
        """Number of the first passing line that begins at `offset` or later: how many begin before."""
        with self._lock:
            block = bisect_right(self._begins, offset) - 1
            if self._file is None or block < 0:
                return 0
            if block >= len(self._begins) - 1:
                return self.count
            return self._before[block] + sum(at < offset for at, _ in self._passing(self._file, block))

    def close(self) -> None:
        """Let go of the file; an update in another thread ends at its next step."""
        with self._lock:
            if self._file is not None:
                self._file.close()
                self._file = None

    def _count(self, end: int, data: bytes) -> None:
        if self.sieve.may_hold(data):
            matches = self.sieve.matches
            self.count += sum(map(matches, data.removesuffix(b"\n").split(b"\n")))
        self._begins.append(end)
        self._before.append(self.count)

    def _passing(self, file: LogFile, block: int) -> Iterator[tuple[int, bytes]]:
        at = self._begins[block]
        data = file.read(at, self._begins[block + 1] - at)
        for line in data.removesuffix(b"\n").split(b"\n"):
            if self.sieve.matches(line):
                yield at, line if len(line) <= _LINE_BYTES else shorten(line, line, len(line))
            at += len(line) + 1
