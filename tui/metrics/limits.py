"""What limits a server now, by the figures of a while; "can't tell" where they don't show it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum

from msgspec import Struct

from tui.metrics.live import LiveMetrics

SPAN_S = 60.0
_LEAST_SAMPLES, _LEAST_SPAN_S = 5, 8.0
_MOSTLY = 0.8  # of the looks
_NOW = 3  # looks: what is over limits nobody
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


RELIEVED = frozenset({Bound.SLOTS, Bound.KV, Bound.REQUESTS})
"""What a flag may give more of."""
LIMITING = RELIEVED | {Bound.COMPUTE}


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
    many run as are allowed wait for a place, or for slots where SGLang allows no more because of those. Where more
    requests at once brought no more tokens, the GPU has no more to give, and no flag of the other kinds would help.
    """
    told = [one for one in samples if one.running is not None and one.queued is not None]
    if told and all(map(_is_idle, told[-_NOW:])):
        return Limit(Bound.NOTHING, "it is idle")
    busy = _since_idle(told)
    if not _are_enough(busy):
        if _are_enough(told) and not any(map(_waits, busy)):
            return Limit(Bound.NOTHING, "it is idle at least part of the time")
        return Limit(Bound.UNKNOWN, f"too few figures yet: requests were told in {len(busy)} of {len(samples)} looks")
    waits = _share(busy, _waits) >= _MOSTLY and any(map(_waits, busy[-_NOW:]))
    return _saturated(busy) or (_crowded(busy) if waits else _uncrowded(busy))


def _are_enough(told: Sequence[LiveMetrics]) -> bool:
    return len(told) >= _LEAST_SAMPLES and (told[-1].at - told[0].at).total_seconds() >= _LEAST_SPAN_S


def _since_idle(told: Sequence[LiveMetrics]) -> Sequence[LiveMetrics]:
    """What it does since it last had nothing to do: what was before says nothing of what is missing now."""
    idle = [place for place, one in enumerate(told) if _is_idle(one)]
    return told[idle[-1] + 1 :] if idle else told


def _is_idle(one: LiveMetrics) -> bool:
    return one.running == 0 and one.queued == 0


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
        newest = told[-1]
        if newest.slot_places is not None and newest.slot_places == newest.max_running:
            return Limit(Bound.SLOTS, f"{queue} while all {newest.max_running} run that the state slots allow at once")
        return Limit(Bound.REQUESTS, f"{queue} while all {newest.max_running} that may run at once do")
    return Limit(Bound.UNKNOWN, f"{queue}, and neither a pool nor the number of running requests is at its limit")


def _uncrowded(told: Sequence[LiveMetrics]) -> Limit:
    newest = told[-_NOW:]
    if not any(map(_waits, newest)) or _share(told, lambda one: not _waits(one)) >= _MOSTLY:
        return Limit(Bound.NOTHING, f"no request waits; {_mean(newest, 'running'):.0f} run")
    return Limit(Bound.UNKNOWN, "requests wait at times")


def _saturated(told: Sequence[LiveMetrics]) -> Limit | None:
    """More requests at once, and no more tokens a second."""
    speeds = sorted((one.running or 0, one.tokens_per_s) for one in told if one.running and one.tokens_per_s)
    third = len(speeds) // 3
    if third < _GROUP:
        return None
    few, many = speeds[:third], speeds[-third:]
    fewer, more = _mean_of(count for count, _ in few), _mean_of(count for count, _ in many)
    slower, faster = _mean_of(speed for _, speed in few), _mean_of(speed for _, speed in many)
    if more < _GREW * fewer or faster > _FASTER * slower:
        return None
    return Limit(
        Bound.COMPUTE, f"{more:.0f} requests at once get {faster:.0f} tokens/s, and {fewer:.0f} got {slower:.0f}"
    )


def _share(told: Sequence[LiveMetrics], holds: Callable[[LiveMetrics], bool]) -> float:
    return sum(map(holds, told)) / len(told)


def _mean_of(values: Iterable[float]) -> float:
    """Of one at least; `statistics` takes longer to import than all of `ps`."""
    known = list(values)
    return sum(known) / len(known)


def _mean(told: Sequence[LiveMetrics], name: str) -> float | None:
    values = [value for one in told if (value := getattr(one, name)) is not None]
    return _mean_of(values) if values else None
