"""Places in a row that are painted or sent together."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache


def runs(wanted: Iterable[bool], gap: int) -> Iterator[tuple[int, int]]:
    """Where each run of wanted places begins, and where it has ended.

    Args:
        wanted: one place after the other.
        gap: so many others between two wanted ones are taken along: to pass them by costs as much.
    """
    return (found.span() for found in _pattern(gap).finditer(bytes(wanted)))  # a frame has thousands of places


@cache
def _pattern(gap: int) -> re.Pattern[bytes]:
    return re.compile(rb"\x01+(?:\x00{1,%d}\x01+)*" % gap)
