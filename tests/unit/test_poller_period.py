"""How often a server is asked what it does: each request is a line in its log."""

from __future__ import annotations

from datetime import UTC, datetime

from tui.metrics.live import LiveMetrics
from tui.metrics.poller import PERIOD_S, _next_period_s

AT = datetime(2026, 11, 30, tzinfo=UTC)
IDLE = LiveMetrics(at=AT, source=None, running=0, queued=0)


def periods(*told: LiveMetrics, is_refused: bool = False) -> list[float]:
    """One after the other."""
    found = [PERIOD_S]
    for one in told:
        found.append(_next_period_s(found[-1], one, is_refused=is_refused))
    return found[1:]


def test_less_often_while_nothing_happens_and_often_at_the_first_request() -> None:
    busy = LiveMetrics(at=AT, source=None, running=1, queued=0)
    waiting = LiveMetrics(at=AT, source=None, running=0, queued=2)
    unknown = LiveMetrics(at=AT, source=None)
    assert periods(IDLE, IDLE, IDLE, busy, IDLE) == [4, 8, 8, 2, 4]
    assert periods(IDLE, waiting) == [4, 2]
    assert periods(IDLE, unknown) == [4, 2]


def test_one_that_refuses_is_asked_ever_more_rarely() -> None:
    assert periods(*[IDLE] * 6, is_refused=True) == [4, 8, 16, 30, 30, 30]
