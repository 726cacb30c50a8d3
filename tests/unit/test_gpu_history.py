"""The last minutes of a GPU, though only changes are noted."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from tests.support.fake_core import gpu, holding, uuid
from tui.app.gpu_history import MOST_STEPS, STEP_S, GpuHistory
from tui.gpu import GpuReading
from tui.units import GIB

START_S = 1000 * STEP_S


def reading(busy: int | None, gib: float = 0.0, *, index: int = 0) -> GpuReading:
    one = gpu(index, [holding(7, gib)], total_bytes=100 * GIB, reserved_bytes=0, utilization_percent=busy)
    return GpuReading((one,))


def busy(history: GpuHistory, now_s: float) -> Sequence[float | None]:
    return [figures[0] for figures in history.of(uuid(0), now_s)]


def test_nothing_is_known_from_before() -> None:
    history = GpuHistory()
    assert history.of(uuid(0), START_S) == [(None, None)] * MOST_STEPS
    history.note(reading(40, 25.0), START_S)
    assert history.of(uuid(0), START_S)[-2:] == [(None, None), (0.4, 0.25)]


def test_what_does_not_change_goes_on_and_a_step_keeps_its_peak() -> None:
    history = GpuHistory()
    history.note(reading(0), START_S)
    history.note(reading(90), START_S + 1)
    history.note(reading(10), START_S + 2)
    assert busy(history, START_S + 3 * STEP_S)[-5:] == [None, 0.9, 0.1, 0.1, 0.1]
    history.note(reading(50), START_S + 5 * STEP_S)
    assert busy(history, START_S + 5 * STEP_S)[-6:] == [0.9, 0.1, 0.1, 0.1, 0.1, 0.5]


def test_what_nobody_could_see_is_unknown() -> None:
    history = GpuHistory()
    history.note(reading(80), START_S)
    history.lose_sight(START_S + STEP_S)
    history.note(reading(70), START_S + 4 * STEP_S)
    assert busy(history, START_S + 4 * STEP_S)[-5:] == [0.8, 0.8, None, None, 0.7]


def test_a_gpu_that_is_gone_is_forgotten() -> None:
    history = GpuHistory()
    history.note(reading(80), START_S)
    history.note(reading(80, index=1), START_S)
    assert history.of(uuid(0), START_S) == [(None, None)] * MOST_STEPS


@given(st.lists(st.tuples(st.floats(0, 500), st.none() | st.integers(0, 100)), min_size=1, max_size=80))
def test_it_stays_short_and_within_bounds(news: list[tuple[float, int | None]]) -> None:
    history, now_s = GpuHistory(), START_S
    for later_s, share in news:
        now_s += later_s
        history.note(reading(share), now_s)
    shown = busy(history, now_s)
    assert len(shown) == MOST_STEPS
    assert all(value is None or 0 <= value <= 1 for value in shown)
    newest = news[-1][1]
    assert newest is None or (shown[-1] or 0) >= newest / 100
