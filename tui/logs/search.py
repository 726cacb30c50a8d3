"""Finding lines in a log of any size, forwards or backwards, block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tui.logs.file import LogFile
from tui.logs.sieve import Sieve
from tui.units import MIB

_BLOCK_BYTES = 256 * 1024
LINE_BYTES = 16 * MIB
"""A longer line is searched in pieces."""

_NEAR_BYTES = 64 * 1024


def find_line(
    file: LogFile, sieve: Sieve, start: int, *, backwards: bool, is_over: Callable[[], bool] = lambda: False
) -> int | None:
    """Offset of the first line that passes, or None.

    Args:
        file: the log.
        sieve: what is looked for.
        start: offset of a line's beginning: that line is the first one looked at, or, backwards, the one before it.
        backwards: towards the beginning of the log.
        is_over: asked between two blocks; the search ends without a result when it says so.
    """
    blocks = blocks_before(file, start) if backwards else blocks_from(file, start)
    for offset, data in blocks:
        if is_over():
            return None
        if sieve.may_hold(data) and (found := _find(data, sieve, backwards=backwards)) is not None:
            return offset + found
    return None


def line_begin(file: LogFile, offset: int) -> int:
    """Where the line begins that holds, or would hold, the byte at an offset; a longer one than `LINE_BYTES` is cut."""
    floor = max(file.start, offset - LINE_BYTES)
    while offset > floor:
        begin = max(floor, offset - _NEAR_BYTES)
        place = file.read(begin, offset - begin).rfind(b"\n")
        if place >= 0:
            return begin + place + 1
        offset = begin
    return floor


def blocks_from(file: LogFile, start: int) -> Iterator[tuple[int, bytes]]:
    """Whole lines from a line's beginning on, with their offset; an unfinished last line comes last."""
    size = _BLOCK_BYTES
    while data := file.read(start, size):
        end = data.rfind(b"\n") + 1
        if not end and len(data) == size < LINE_BYTES:
            size *= 2
            continue
        # What was read of the line behind is read again: to keep it, all that follows would have to be copied.
        yield start, data[:end] if end else data
        start, size = start + (end or len(data)), _BLOCK_BYTES


def blocks_before(file: LogFile, stop: int) -> Iterator[tuple[int, bytes]]:
    """Whole lines before a line's beginning, the last block first."""
    size, floor = _BLOCK_BYTES, file.start
    while stop > floor:
        begin = max(floor, stop - size)
        data = file.read(begin, stop - begin)
        cut = data.find(b"\n", 0, -1) + 1 if begin > floor else 0
        if begin > floor and not cut and size < LINE_BYTES:
            size *= 2
            continue
        yield begin + cut, data[cut:]
        stop, size = begin + cut, _BLOCK_BYTES


def _find(data: bytes, sieve: Sieve, *, backwards: bool) -> int | None:
    lines = data.removesuffix(b"\n").split(b"\n")
    if backwards:
        at = len(data) + (not data.endswith(b"\n"))
        for line in reversed(lines):
            at -= len(line) + 1
            if sieve.matches(line):
                return at
        return None
    at = 0
    for line in lines:
        if sieve.matches(line):
            return at
        at += len(line) + 1
    return None
