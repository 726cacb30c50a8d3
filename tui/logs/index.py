"""Line numbers of a log of any size: where line N begins, found through a count of lines for each 64 KiB."""

from __future__ import annotations

import threading
from array import array
from bisect import bisect_left
from pathlib import Path

from tui.logs.file import Cursor, LogFile
from tui.logs.lines import shorten
from tui.units import MIB

LINE_BYTES = 64 * 1024
"""A longer line is shortened when it is read."""

_BLOCK_BYTES = 64 * 1024
_SLICE_BYTES = 256 * 1024  # each costs six system calls, and is how long others wait


class LineIndex:
    """A log as numbered lines, counted from 0, which are read from the file when they are asked for.

    Its memory is one number for each 64 KiB of log. One thread calls `update`; others may call the methods meanwhile
    and wait for one slice of 256 KiB at most, but the attributes are sure only between two updates.

    Args:
        start: byte offset of line 0, for an index of the end of a log.

    Attributes:
        count: lines, with an unfinished last one.
        unfinished: whether the last line has no LF yet.
        behind_bytes: how much of the file wasn't indexed yet at the last update.
        generation: how often counting began anew because the file was truncated, replaced or cut at its head.
        head_cut: the last time it was a cut: the lines are the same, without those at the head.
        trimmed: lines that are no longer counted, since segments of the log were deleted.
    """

    def __init__(self, path: Path, start: int = 0) -> None:
        self.path = path
        self.generation = 0
        self.head_cut = False
        self.trimmed = 0
        self._lock = threading.Lock()
        self._file: LogFile | None = None
        self._closed = False
        self._begin(start)

    def _begin(self, start: int) -> None:
        self.start = start
        self.behind_bytes = 0
        self.unfinished = False
        self._cursor = Cursor(start)
        self._breaks = 0
        self._breaks_before = array("Q", [0])  # line breaks before each block

    @property
    def count(self) -> int:
        """Number of lines known."""
        return self._breaks + self.unfinished

    def update(self, budget_bytes: int = 16 * MIB) -> bool:
        """Index what was appended, at most `budget_bytes` of it; whether anything changed."""
        changed = False
        while budget_bytes > 0 and self._advance(min(budget_bytes, _SLICE_BYTES)):
            budget_bytes -= _SLICE_BYTES
            changed = True
        return changed

    def read(self, first: int, count: int) -> list[bytes]:
        """Lines `first` to `first + count - 1`, without their LF, as many as there are."""
        with self._lock:
            if self._file is None or not 0 <= first < self.count:
                return []
            return self._read(self._file, first, min(count, self.count - first))

    def line_at(self, offset: int) -> int:
        """Number of the line that begins at, or holds, the byte at `offset`."""
        with self._lock:
            if self._file is None:
                return 0
            block = min(max(0, offset - self.start) // _BLOCK_BYTES, len(self._breaks_before) - 1)
            begin = self.start + block * _BLOCK_BYTES
            return self._breaks_before[block] + self._file.read(begin, offset - begin).count(b"\n")

    def covers(self, offset: int) -> bool:
        """The line that holds the byte at `offset` is among those that are counted."""
        with self._lock:
            return self.start <= offset < self._cursor.offset

    def offset_of(self, line: int) -> int | None:
        """Where a line begins, or None when there is no such line."""
        with self._lock:
            return self._offset_of(self._file, line) if self._file is not None and 0 <= line < self.count else None

    def close(self) -> None:
        """Let go of the file; an update in another thread ends at its next slice."""
        self._closed = True
        with self._lock:
            if self._file is not None:
                self._file.close()
                self._file = None

    def _advance(self, length: int) -> bool:
        with self._lock:
            if self._closed:
                return False
            self._file = file = self._file or LogFile.open(self.path)
            if file is None:
                return False
            if self.start < file.start:
                self._trim(file.start)
            expected = self._cursor.offset
            data = self._cursor.read(file, length)
            moved = data is not None and self._cursor.offset != expected + len(data)
            if data is None or moved or (not data and file.is_replaced()):
                self._restart(file, head_cut=moved)
                return True
            self._count(data)
            self.behind_bytes = max(0, file.size() - self._cursor.offset)
            return bool(data)

    def _restart(self, file: LogFile, *, head_cut: bool) -> None:
        newer = LogFile.open(self.path)
        if newer is not None:
            file.close()
            self._file = newer
        self.generation += 1
        self.head_cut = head_cut
        self._begin(self._file.start if self._file is not None else 0)

    def _trim(self, start: int) -> None:
        """Forget the lines before `start`, where the oldest segment that is kept begins: at a block's edge of ours."""
        blocks, rest = divmod(start - self.start, _BLOCK_BYTES)
        if self._cursor.offset <= start or rest:
            self.generation += self._cursor.offset > self.start
            self.head_cut = True
            self._begin(start)
            return
        gone = self._breaks_before[blocks]
        self._breaks_before = array("Q", (breaks - gone for breaks in self._breaks_before[blocks:]))
        self._breaks -= gone
        self.trimmed += gone
        self.start = start

    def _count(self, data: bytes) -> None:
        """Count the line breaks of `data`, which ends at the cursor, block by block."""
        position = self._cursor.offset - len(data) - self.start
        done = 0
        while done < len(data):
            step = min(len(data) - done, _BLOCK_BYTES - position % _BLOCK_BYTES)
            self._breaks += data.count(b"\n", done, done + step)
            done += step
            position += step
            if position % _BLOCK_BYTES == 0:
                self._breaks_before.append(self._breaks)
        if data:
            self.unfinished = not data.endswith(b"\n")

    def _read(self, file: LogFile, first: int, count: int) -> list[bytes]:
        lines: list[bytes] = []
        offset = self._offset_of(file, first)
        while len(lines) < count and (data := file.read(offset, self._readable(offset, LINE_BYTES + 1))):
            *complete, rest = data.split(b"\n")
            lines += complete
            offset += len(data) - len(rest)
            if not complete:  # the unfinished last line, or one too long for one read
                end = self._offset_of(file, first + len(lines) + 1)
                lines.append(self._bounded(file, rest, offset, end))
                offset = end
        return lines[:count]

    def _bounded(self, file: LogFile, head: bytes, offset: int, end: int) -> bytes:
        size = end - offset - (end < self._cursor.offset or not self.unfinished)
        if size <= LINE_BYTES:
            return head[:size]
        return shorten(head, file.read(offset + size - LINE_BYTES, LINE_BYTES), size)

    def _offset_of(self, file: LogFile, line: int) -> int:
        """Where a line begins; the end of what is indexed if there is no such line (any more)."""
        block = bisect_left(self._breaks_before, line) - 1
        if block < 0:
            return self.start
        begin = self.start + block * _BLOCK_BYTES
        data = file.read(begin, self._readable(begin, _BLOCK_BYTES))
        at = 0
        for _ in range(line - self._breaks_before[block]):
            at = data.find(b"\n", at) + 1
            if not at:
                return self._cursor.offset
        return begin + at

    def _readable(self, offset: int, length: int) -> int:
        return min(length, self._cursor.offset - offset)
