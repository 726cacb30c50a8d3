"""What limits a server: only what the figures show."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tui.metrics.limits import Bound, find_limit, recent
from tui.metrics.live import LiveMetrics, Source

START = datetime(2026, 11, 30, tzinfo=UTC)


def watch(count: int = 12, **fields: Any) -> list[LiveMetrics]:
    """So many looks, two seconds apart; a field may be a list, one value a look."""
    return [
        LiveMetrics(
            at=START + timedelta(seconds=2 * number),
            source=Source.METRICS,
            **{name: value[number] if isinstance(value, list) else value for name, value in fields.items()},
        )
        for number in range(count)
    ]


@pytest.mark.parametrize(
    ("fields", "bound", "words"),
    [
        ({"running": 8, "queued": 5, "max_running": 8, "kv_usage": 0.3, "slot_usage": 0.98}, Bound.SLOTS, "98%"),
        ({"running": 30, "queued": 5, "max_running": 48, "kv_usage": 0.97, "slot_usage": 0.6}, Bound.KV, "97% full"),
        ({"running": 30, "queued": 5, "kv_usage": 0.7, "retractions": 4}, Bound.KV, "4 were put back"),
        ({"running": 8, "queued": 5, "max_running": 8, "kv_usage": 0.3, "slot_usage": 0.6}, Bound.REQUESTS, "all 8"),
        ({"running": 5, "queued": 5, "max_running": 8, "kv_usage": 0.3}, Bound.UNKNOWN, "neither a pool"),
        ({"running": 8, "queued": 5, "max_running": 8, "slot_places": 8, "slot_usage": 0.8}, Bound.SLOTS, "all 8 run"),
        ({"running": 5, "queued": 5}, Bound.UNKNOWN, "neither a pool"),
        ({"running": 5, "queued": 0, "max_running": 8, "kv_usage": 0.95}, Bound.NOTHING, "no request waits"),
        ({"running": 0, "queued": 0}, Bound.NOTHING, "idle"),
        ({"running": 8, "queued": [1, 0] * 6, "max_running": 8}, Bound.UNKNOWN, "at times"),
        ({"running": 8, "queued": [1] * 9 + [0] * 3, "max_running": 8}, Bound.NOTHING, "no request waits; 8 run"),
        ({"running": [8] * 9 + [0] * 3, "queued": [1] * 9 + [0] * 3, "max_running": 8}, Bound.NOTHING, "it is idle"),
        ({"running": [0] * 6 + [8] * 6, "queued": [0] * 6 + [5] * 6, "max_running": 8}, Bound.REQUESTS, "all 8"),
        ({"running": [0] * 9 + [8] * 3, "queued": [0] * 9 + [5] * 3, "max_running": 8}, Bound.UNKNOWN, "in 3 of 12"),
        ({"running": [0, 1] * 6, "queued": 0}, Bound.NOTHING, "idle at least part"),
        ({}, Bound.UNKNOWN, "too few figures"),
    ],
)
def test_only_what_the_figures_show(fields: dict[str, Any], bound: Bound, words: str) -> None:
    limit = find_limit(watch(**fields))
    assert limit.bound is bound
    assert words in limit.why


def test_more_requests_that_bring_no_more_tokens_are_the_gpus_limit() -> None:
    growing: dict[str, Any] = {"running": [2] * 6 + [8] * 6, "queued": 3, "max_running": 8}
    assert find_limit(watch(**growing, tokens_per_s=[400.0] * 6 + [410.0] * 6)).bound is Bound.COMPUTE
    # Where they do bring more, a place is what is missing, as far as the figures of both phases show it.
    assert find_limit(watch(**growing, tokens_per_s=[100.0] * 6 + [400.0] * 6)).bound is not Bound.COMPUTE


def test_a_moment_tells_nothing() -> None:
    assert find_limit(watch(3, running=8, queued=5, max_running=8)).bound is Bound.UNKNOWN
    assert find_limit([]).bound is Bound.UNKNOWN


def test_the_last_minute_counts() -> None:
    history = watch(60, running=1, queued=0)
    assert len(recent(history)) == 31
    assert recent([]) == []
