"""Places in a row that are painted or sent together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator


def runs(wanted: Iterable[bool], gap: int) -> Iterator[tuple[int, int]]:
    """Where each run of wanted places begins, and where it has ended.

    Args:
        wanted: one place after the other.
        gap: so many others between two wanted ones are taken along: to pass them by costs as much.
    """
    start: int | None = None
    end = 0
    for at, is_wanted in enumerate(wanted):
        if not is_wanted:
            continue
        if start is not None and at - end > gap:
            yield start, end
            start = None
        start = at if start is None else start
        end = at + 1
    if start is not None:
        yield start, end
