"""Histories in equal steps of time, for plots of a fixed width."""

from __future__ import annotations

from collections.abc import Iterable
from math import floor, log10


def in_steps(
    points: Iterable[tuple[float, float | None]], now_s: float, step_s: float, count: int
) -> list[float | None]:
    """The largest value of each of the last `count` steps, oldest first; None where nobody knows.

    Steps begin at multiples of `step_s`: what was drawn moves on only when one is over, and until then at most the
    last one changes.

    Args:
        points: time and value, in any order.
        now_s: within the last step.
        step_s: the length of a step.
        count: of steps.
    """
    last = int(now_s // step_s)
    found: list[float | None] = [None] * count
    for at_s, value in points:
        place = count - 1 - last + int(at_s // step_s)
        if value is not None and 0 <= place < count:
            known = found[place]
            found[place] = value if known is None else max(known, value)
    return found


def round_top(value: float) -> float:
    """The next of 1, 2, 5, 10, 20, 50, ... for the top of a plot: it stays as it is while the largest value grows."""
    scale = 10.0 ** floor(log10(max(value, 1.0)))
    return next(step * scale for step in (1, 2, 5, 10) if step * scale >= value)
