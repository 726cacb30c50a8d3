"""Histories in steps: what was drawn stays where it is until a step is over."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tui.app.curves import in_steps, round_top

Points = list[tuple[float, float | None]]
TIMES = st.floats(min_value=0, max_value=10_000, allow_nan=False)
VALUES = st.none() | st.floats(min_value=0, max_value=1e6, allow_nan=False)
POINTS = st.lists(st.tuples(TIMES, VALUES), max_size=40)


def test_the_largest_of_a_step_and_nothing_where_nobody_looked() -> None:
    points: Points = [(0.0, 9.0), (61.0, 3.0), (119.0, 5.0), (121.0, 0.0), (250.0, None), (301.0, 7.0)]
    assert in_steps(points, 310.0, 60.0, 6) == [9.0, 5.0, 0.0, None, None, 7.0]
    assert in_steps(points, 310.0, 60.0, 3) == [None, None, 7.0]
    assert in_steps([], 310.0, 60.0, 2) == [None, None]


@given(POINTS, TIMES)
def test_within_a_step_only_the_last_cell_may_change(points: Points, now_s: float) -> None:
    begin_s = now_s // 60 * 60
    known = [point for point in points if point[0] < begin_s]
    before = in_steps(known, begin_s, 60.0, 20)
    after = in_steps([*known, (now_s, 1.0)], now_s, 60.0, 20)
    assert before[:-1] == after[:-1]
    assert after[-1] == 1.0
    assert in_steps(known, begin_s + 60, 60.0, 20)[:-1] == before[1:]


@given(st.floats(min_value=0, max_value=1e12, allow_nan=False))
def test_a_top_is_a_round_number_that_holds_the_largest(value: float) -> None:
    top = round_top(value)
    assert top >= value
    assert top == 1 or top <= 2.51 * value
    assert f"{top:.0f}".rstrip("0") in ("1", "2", "5")
