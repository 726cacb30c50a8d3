"""How often a server is asked what it does: each request is a line in its log."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
from msgspec import structs

from tui.metrics.live import LiveMetrics
from tui.metrics.poller import HISTORY_LENGTH, PERIOD_S, _next_period_s, _Watched

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


@pytest.mark.parametrize(("period_s", "kept"), [(PERIOD_S, HISTORY_LENGTH), (30.0, 121)])
def test_what_is_kept_is_of_the_last_hour(period_s: float, kept: int) -> None:
    """However often it was asked, and never more than an hour's worth at the shortest period."""
    watched = _Watched()
    for number in range(3 * HISTORY_LENGTH):
        watched._remember(structs.replace(IDLE, at=AT + timedelta(seconds=number * period_s)))
    assert len(watched.history) == kept
    assert watched.history[-1].at - watched.history[0].at <= timedelta(hours=1)


def test_a_server_whose_log_stands_still_is_not_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """But for the line of the last question; whatever else is logged may be a request."""
    now = [1000.0]
    monkeypatch.setattr("tui.metrics.poller.time.monotonic", lambda: now[0])
    watched, asked = _Watched(), list[object]()
    monkeypatch.setattr(watched, "_ask", asked.append)
    recorded = SimpleNamespace(files=SimpleNamespace(log=tmp_path / "server.log"))
    log = recorded.files.log

    def look(after_s: float, *, logged: bytes = b"") -> int:
        now[0] += after_s
        with log.open("ab") as file:
            file.write(logged)
        watched.ask_if_due(recorded)  # type: ignore[arg-type]
        watched.wait(10)
        watched._is_idle = True  # what the stand-in for asking doesn't find out
        return len(asked)

    own = b'[2026-11-29 03:08:20] INFO:     127.0.0.1:57512 - "GET /v1/loads HTTP/1.1" 200 OK\n'
    assert look(0, logged=b"The server is fired up and ready to roll!\n") == 1
    assert look(9, logged=own) == 1
    assert look(9) == 1
    assert look(9, logged=b"Prefill batch, #new-seq: 1\n") == 2
    assert look(9, logged=own + own) == 3, "two lines: somebody else asks, too"
    assert look(9) == 4, "its own line isn't logged: nothing can be told from silence"
    assert look(9, logged=own) == 4
    assert look(31) == 5, "now and then all the same"
