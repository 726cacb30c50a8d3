"""Following a log that grows, and reading its last lines."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from msgspec import Struct

from tui.logs.file import Cursor, LogFile
from tui.logs.lines import LineBuffer
from tui.units import MIB

POLL_BYTES = 4 * MIB
LINE_BYTES = MIB
"""A longer line is shortened, so that one without an end doesn't fill the memory."""

_BLOCK_BYTES = 64 * 1024


class LogChunk(Struct, frozen=True):
    """What one look at a log brought.

    Attributes:
        lines: complete lines without their LF, as they are on disk.
        reset: the file was truncated or replaced; `lines` begin at the head of what is there now.
        more: there was more than one look takes; look again.
    """

    lines: tuple[bytes, ...] = ()
    reset: bool = False
    more: bool = False


class Follower:
    """Reads a log as it grows; the log needn't exist yet.

    Truncation and replacement are seen at the next poll, also when the new content is already longer than the old. A
    head that was cut off in whole blocks (so a running server's log is rotated) loses and repeats nothing. A file that
    was replaced is read to its end first.

    Args:
        start: byte offset where to begin, as `tail_offset` finds it.
    """

    def __init__(self, path: Path, start: int = 0) -> None:
        self.path = path
        self._file: LogFile | None = None
        self._cursor = Cursor(start)
        self._buffer = LineBuffer(LINE_BYTES)

    @property
    def partial(self) -> bytes:
        """The last line while it has no LF: a progress bar, or a line that is just being written.

        A reset drops it: who wants to keep it takes it before the next poll.
        """
        return self._buffer.partial

    @property
    def done(self) -> float:
        """How much of the log was read, from 0 to 1."""
        if self._file is None:
            return 1.0
        begin, size = self._file.start, self._file.size()
        return min(1.0, (self._cursor.offset - begin) / max(1, size - begin))

    def poll(self) -> LogChunk:
        """Read what was appended since the last time, at most `POLL_BYTES`."""
        self._file = file = self._file or self._open()
        if file is None:
            return LogChunk()
        data = self._cursor.read(file, POLL_BYTES)
        if data is not None and (data or not file.is_replaced()):
            return self._chunk(data, reset=False)
        file = self._restart(file)
        return self._chunk(self._cursor.read(file, POLL_BYTES) or b"", reset=True)

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _chunk(self, data: bytes, *, reset: bool) -> LogChunk:
        return LogChunk(tuple(self._buffer.feed(data)), reset, more=len(data) == POLL_BYTES)

    def _open(self) -> LogFile | None:
        """The log; what is no longer kept is passed over."""
        file = LogFile.open(self.path)
        if file is not None and self._cursor.offset < file.start:
            self._cursor = Cursor(file.start)
        return file

    def _restart(self, file: LogFile) -> LogFile:
        """Begin at the head of what the path names now, or of the same file if it names nothing."""
        newer = LogFile.open(self.path)
        if newer is not None:
            file.close()
        self._file = file = newer or file
        self._cursor, self._buffer = Cursor(file.head), LineBuffer(LINE_BYTES)
        return file


def tail_offset(file: LogFile, count: int, within_bytes: int | None = None) -> int:
    """Byte offset at which the last `count` lines begin; an unfinished last line is one of them.

    Args:
        file: the log.
        count: lines wanted.
        within_bytes: look no farther back than this; the offset may then lie inside a line.
    """
    end = file.size()
    floor = file.start if within_bytes is None else max(file.start, end - within_bytes)
    stop = end - 1  # the last LF ends a line, but begins none
    while count > 0 and stop > floor:
        start = max(floor, stop - _BLOCK_BYTES)
        block = file.read(start, stop - start)
        found = block.count(b"\n")
        if found >= count:
            return start + _nth_from_end(block, count)
        count -= found
        stop = start
    return floor if count > 0 else end


def tail_lines(path: Path, count: int) -> list[bytes]:
    """The last `count` lines of a log, without their LF; none when there is no log."""
    file = LogFile.open(path)
    if file is None:
        return []
    buffer, lines = LineBuffer(LINE_BYTES), list[bytes]()
    with closing(file):
        cursor = Cursor(tail_offset(file, count))
        while data := cursor.read(file, POLL_BYTES):
            lines += buffer.feed(data)
    return [*lines, buffer.partial] if buffer.partial else lines


def _nth_from_end(block: bytes, count: int) -> int:
    """Where the line behind the `count`th LF from the end begins."""
    at = len(block)
    for _ in range(count):
        at = block.rindex(b"\n", 0, at)
    return at + 1
