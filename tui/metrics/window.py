"""What sums since the start of a server say about its last minute."""

from __future__ import annotations

from collections import deque

from msgspec import Struct

from tui.metrics.exposition import Counters

_SPAN_S = 60.0
_MOST = 120


class Recent(Struct, frozen=True):
    """Of the last minute, or since the start where that is all there is.

    Attributes:
        retractions: requests; None without an earlier look.
    """

    retractions: int | None = None
    time_to_first_token_s: float | None = None
    cache_hit_rate: float | None = None


class Window:
    """The sums of the last minute's looks."""

    def __init__(self) -> None:
        self._looks: deque[tuple[float, Counters]] = deque(maxlen=_MOST)

    def add(self, now_s: float, counters: Counters) -> Recent:
        """Take a look's sums, and tell what happened since the oldest that is at most a minute old."""
        while self._looks and (now_s - self._looks[0][0] > _SPAN_S or _went_back(self._looks[0][1], counters)):
            self._looks.popleft()
        before = self._looks[0][1] if self._looks else None
        self._looks.append((now_s, counters))
        since = counters if before is None else _difference(counters, before)
        # Who has retracted nothing yet doesn't tell it: 0.5.11 and later show a sum only from its first addition on.
        retracted = None if before is None or counters.prompt_tokens is None else round(since.retracted or 0.0)
        return Recent(
            retractions=retracted,
            time_to_first_token_s=_ratio(since.first_token_s, since.first_tokens),
            # What was cached is counted when a request is finished: a moment before, or after, its prompt is.
            cache_hit_rate=_ratio(since.cached_tokens, since.prompt_tokens),
        )


def _went_back(before: Counters, now: Counters) -> bool:
    """Another server counts now."""
    return (now.prompt_tokens or 0.0) < (before.prompt_tokens or 0.0)


def _difference(now: Counters, before: Counters) -> Counters:
    """What came in between; a sum that wasn't told before began at 0."""
    since = {}
    for name in Counters.__struct_fields__:
        newest = getattr(now, name)
        since[name] = None if newest is None else max(newest - (getattr(before, name) or 0.0), 0.0)
    return Counters(**since)


def _ratio(part: float | None, whole: float | None) -> float | None:
    return part / whole if part is not None and whole else None
