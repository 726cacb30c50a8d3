"""Physical lines: they end at LF only, and one that never ends must not fill the memory."""

from __future__ import annotations

_HEAD_BYTES = 2048
_TAIL_BYTES = 1024


def shorten(head: bytes, tail: bytes, size_bytes: int) -> bytes:
    """A line too long to be kept: its beginning, how much is left out, and its end (a progress bar's newest state).

    Args:
        head: the line's beginning, or more of it than will be kept.
        tail: the line's end, likewise.
        size_bytes: length of the whole line.
    """
    left_out = size_bytes - _HEAD_BYTES - _TAIL_BYTES
    return b"%b [%d bytes left out] %b" % (head[:_HEAD_BYTES], left_out, tail[-_TAIL_BYTES:])


class LineBuffer:
    """Splits what is appended to a file into lines, and holds the last one as long as it is unfinished.

    Args:
        limit_bytes: a line longer than this is shortened.
    """

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._head = b""
        self._rest = bytearray()
        self._size_bytes = 0

    @property
    def partial(self) -> bytes:
        """The line that has no LF yet, or nothing."""
        if self._size_bytes > self._limit_bytes:
            return shorten(self._head, bytes(self._rest), self._size_bytes)
        return bytes(self._rest)

    def feed(self, data: bytes) -> list[bytes]:
        """Take what follows, return the lines that are finished now (without their LF)."""
        first, *others = data.split(b"\n")
        self._append(first)
        if not others:
            return []
        finished = [self.partial, *(self._bounded(line) for line in others[:-1])]
        self._start(others[-1])
        return finished

    def _start(self, line: bytes) -> None:
        self._head, self._rest, self._size_bytes = b"", bytearray(), 0
        self._append(line)

    def _append(self, piece: bytes) -> None:
        self._rest += piece
        self._size_bytes += len(piece)
        if len(self._head) < _HEAD_BYTES:
            self._head = bytes(self._rest[:_HEAD_BYTES])
        if len(self._rest) > self._limit_bytes:
            del self._rest[:-_TAIL_BYTES]

    def _bounded(self, line: bytes) -> bytes:
        return line if len(line) <= self._limit_bytes else shorten(line, line, len(line))
