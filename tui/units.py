"""Units. Memory is bytes inside and GiB (2**30, what SGLang prints as "GB") on screens; the name says which."""

from __future__ import annotations

KIB = 1 << 10
MIB = 1 << 20
GIB = 1 << 30

MINUTE_S = 60
HOUR_S = 60 * MINUTE_S
DAY_S = 24 * HOUR_S


def to_gib(size_bytes: int, digits: int = 2) -> float:
    """Bytes as GiB, rounded."""
    return round(size_bytes / GIB, digits)


def format_gib(size_bytes: int | None, digits: int = 1) -> str:
    """Bytes as GiB for a table cell: `71.8`, or `-` when unknown."""
    return "-" if size_bytes is None else f"{size_bytes / GIB:.{digits}f}"


def format_duration(seconds: float | None) -> str:
    """A duration in its two largest units at most: `41 s`, `3 min`, `2 h 5 min`, `3 d 4 h`; `-` when unknown."""
    if seconds is None:
        return "-"
    whole = max(0, int(seconds))
    if whole < MINUTE_S:
        return f"{whole} s"
    if whole < HOUR_S:
        return f"{whole // MINUTE_S} min"
    if whole < DAY_S:
        return _two(whole // HOUR_S, "h", whole % HOUR_S // MINUTE_S, "min")
    return _two(whole // DAY_S, "d", whole % DAY_S // HOUR_S, "h")


def _two(large: int, large_unit: str, small: int, small_unit: str) -> str:
    return f"{large} {large_unit} {small} {small_unit}" if small else f"{large} {large_unit}"
