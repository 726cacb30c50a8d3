"""Lines of a log by their numbers, found in one pass that only counts what is before them."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

from tui.logs.file import LogFile
from tui.logs.lines import shorten
from tui.units import MIB

_BLOCK_BYTES = MIB
_LINE_BYTES = 64 * 1024
"""Of a longer line as much is read."""


def find_numbered(path: Path, numbers: Iterable[int]) -> dict[int, tuple[int, bytes]]:
    """Offset and text of lines, without their LF, by number from 1; those that there are, in order.

    Raises:
        SgltuiError: the log can't be read.
    """
    file = LogFile.open(path)
    if file is None:
        return {}
    with closing(file):
        offsets = _offsets(file, sorted(set(numbers)))
        return {number: (offset, _line_at(file, offset)) for number, offset in offsets.items()}


def _offsets(file: LogFile, wanted: list[int]) -> dict[int, int]:
    """Where they begin."""
    found: dict[int, int] = {}
    number, at = 1, file.start  # of the first line that begins in, or before, the block
    if wanted and wanted[0] == 1 and file.size() > at:
        found[1] = at
    remaining = [one for one in wanted if one > 1]
    while remaining and (block := file.read(at, _BLOCK_BYTES)):
        breaks = block.count(b"\n")
        place, passed = 0, number
        while remaining and remaining[0] <= number + breaks:
            for _ in range(remaining[0] - passed):
                place = block.index(b"\n", place) + 1
            passed = remaining.pop(0)
            found[passed] = at + place
        number += breaks
        at += len(block)
    return {one: offset for one, offset in found.items() if offset < file.size()}


def _line_at(file: LogFile, offset: int) -> bytes:
    data = file.read(offset, _LINE_BYTES)
    line, end, _ = data.partition(b"\n")
    return line if end or len(data) < _LINE_BYTES else shorten(line, line, _LINE_BYTES)
