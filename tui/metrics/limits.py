"""What limits a server now, by the figures of a while; "can't tell" where they don't show it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from statistics import fmean

from msgspec import Struct

from tui.metrics.live import LiveMetrics

SPAN_S = 60.0
_LEAST_SAMPLES, _LEAST_SPAN_S = 5, 8.0
_MOSTLY = 0.8  # of the looks
_FULL = 0.9  # of a pool: SGLang lets no request in that might not fit to its end
_GREW, _FASTER = 1.5, 1.1
_GROUP = 3


class Bound(StrEnum):
    """What there isn't enough of."""

    SLOTS = "state slots"
    KV = "KV cache"
    REQUESTS = "max-running-requests"
    COMPUTE = "compute"
    NOTHING = "nothing"
    UNKNOWN = "can't tell"


class Limit(Struct, frozen=True):
    """What limits it.

    Attributes:
        bound: of what there isn't enough.
        why: the figures that show it, or what is missing to tell; a sentence.
    """

    bound: Bound
    why: str


def recent(history: Sequence[LiveMetrics], span_s: float = SPAN_S) -> Sequence[LiveMetrics]:
    """The last while of a history."""
    return [one for one in history if (history[-1].at - one.at).total_seconds() <= span_s]


def find_limit(samples: Sequence[LiveMetrics]) -> Limit:
    """Judge the figures of a while, oldest first.

    Requests that wait while the pool of state slots or of the KV cache is full wait for that; those that wait while as
    many run as are allowed wait for a place. Where more requests at once brought no more tokens, the GPU has no more
    to give, and no flag of the other kinds would help.
    """
    told = [one for one in samples if one.running is not None and one.queued is not None]
    if len(told) < _LEAST_SAMPLES or (told[-1].at - told[0].at).total_seconds() < _LEAST_SPAN_S:
        return Limit(Bound.UNKNOWN, f"too few figures yet: requests were told in {len(told)} of {len(samples)} looks")
    if _share(told, lambda one: one.running == 0 and one.queued == 0) > 1 - _MOSTLY:
        return Limit(Bound.NOTHING, "it is idle at least part of the time")
    return _saturated(told) or (_crowded(told) if _share(told, _waits) >= _MOSTLY else _uncrowded(told))


def _waits(one: LiveMetrics) -> bool:
    return bool(one.queued)


def _crowded(told: Sequence[LiveMetrics]) -> Limit:
    """Requests wait: for what?"""
    queue = f"{_mean(told, 'queued'):.0f} requests wait"
    slots, cache = _mean(told, "slot_usage"), _mean(told, "kv_usage")
    if slots is not None and slots >= _FULL and slots >= (cache or 0.0):
        return Limit(Bound.SLOTS, f"{queue} while {slots:.0%} of the state slots are taken")
    retracted = max((one.retractions or 0 for one in told), default=0)
    if cache is not None and (cache >= _FULL or retracted):
        again = f", and {retracted} were put back in a minute" if retracted else ""
        return Limit(Bound.KV, f"{queue} while the KV cache is {cache:.0%} full{again}")
    full = _share(told, lambda one: one.max_running is not None and (one.running or 0) >= one.max_running)
    if full >= _MOSTLY:
        return Limit(Bound.REQUESTS, f"{queue} while all {told[-1].max_running} that may run at once do")
    return Limit(Bound.UNKNOWN, f"{queue}, and neither a pool nor the number of running requests is at its limit")


def _uncrowded(told: Sequence[LiveMetrics]) -> Limit:
    if _share(told, lambda one: not _waits(one)) >= _MOSTLY:
        return Limit(Bound.NOTHING, f"no request waits; {_mean(told, 'running'):.0f} run")
    return Limit(Bound.UNKNOWN, "requests wait at times")


def _saturated(told: Sequence[LiveMetrics]) -> Limit | None:
    """More requests at once, and no more tokens a second."""
    speeds = sorted((one.running or 0, one.tokens_per_s) for one in told if one.running and one.tokens_per_s)
    third = len(speeds) // 3
    if third < _GROUP:
        return None
    few, many = speeds[:third], speeds[-third:]
    fewer, more = fmean(count for count, _ in few), fmean(count for count, _ in many)
    slower, faster = fmean(speed for _, speed in few), fmean(speed for _, speed in many)
    if more < _GREW * fewer or faster > _FASTER * slower:
        return None
    return Limit(
        Bound.COMPUTE, f"{more:.0f} requests at once get {faster:.0f} tokens/s, and {fewer:.0f} got {slower:.0f}"
    )


def _share(told: Sequence[LiveMetrics], holds: Callable[[LiveMetrics], bool]) -> float:
    return sum(map(holds, told)) / len(told)


def _mean(told: Sequence[LiveMetrics], name: str) -> float | None:
    values = [value for one in told if (value := getattr(one, name)) is not None]
    return fmean(values) if values else None
