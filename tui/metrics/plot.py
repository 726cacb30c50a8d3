"""A curve in one line of text."""

from __future__ import annotations

from collections.abc import Sequence

_BLOCKS = " ▁▂▃▄▅▆▇█"
_ASCII = " .:-=+*#@"
_MISSING = "?"


def sparkline(
    values: Sequence[float | None], width: int, top: float, *, ascii_only: bool = False, missing: str = _MISSING
) -> str:
    """One character a step, as high as the largest value in it; at most `width`.

    Args:
        values: in equal steps of time; None where nobody knows.
        width: characters; longer series are cut into that many parts.
        top: what fills a character.
        ascii_only: for terminals without block characters.
        missing: stands where nobody knows.
    """
    levels = _ASCII if ascii_only else _BLOCKS
    return "".join(
        missing if value is None else levels[_level(value, top, len(levels))] for value in _fit(values, width)
    )


def _fit(values: Sequence[float | None], width: int) -> list[float | None]:
    steps = min(len(values), width)
    parts = (values[step * len(values) // steps : (step + 1) * len(values) // steps] for step in range(steps))
    return [max((value for value in part if value is not None), default=None) for part in parts]


def _level(value: float, top: float, count: int) -> int:
    """Anything above zero is seen."""
    if value <= 0 or top <= 0:
        return 0
    return max(1, min(count - 1, round(value / top * (count - 1))))
