"""The allocation that torch gave up on: how much was asked for, and how much was free on that GPU."""

from __future__ import annotations

import re

from tui.units import GIB, MIB

# As c10/cuda/CUDACachingAllocator.cpp writes sizes (format_size): a full GPU has "0 bytes" free.
_UNITS = {"GiB": GIB, "MiB": MIB, "KiB": 1024, "bytes": 1}
_SIZE = rf"([\d.]{{1,20}}) ({'|'.join(_UNITS)})"
_FAILED = re.compile(rf"Tried to allocate {_SIZE}\..{{0,200}}? of which {_SIZE} is free", re.ASCII)


def failed_allocation(text: str) -> tuple[int, int] | None:
    """Bytes that were asked for, and that were free, in the first such message of a text; None where there is none."""
    match = _FAILED.search(text)
    return None if match is None else (_size(match[1], match[2]), _size(match[3], match[4]))


def _size(number: str, unit: str) -> int:
    return round(float(number) * _UNITS[unit])
