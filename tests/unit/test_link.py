"""How the UI finds out that the terminal is behind, and what it does then."""

from __future__ import annotations

import pytest

from tui.app.link import Link

FRAME = 10_000


class Clock:
    """Time that passes when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def link(clock: Clock) -> Link:
    """A round trip of 50 ms is known."""
    link = Link(clock)
    link.ask()
    clock.now += 0.05
    link.answered()
    return link


def paint(link: Link, clock: Clock, answer_s: float) -> None:
    """A frame, and its answer so much later."""
    assert link.asks_behind(FRAME)
    clock.now += answer_s
    link.answered()


def test_a_fast_link_is_used_as_often_as_wanted(link: Link, clock: Clock) -> None:
    paint(link, clock, 0.05)
    assert link.allows(passed_s=0.25, period_s=0.25)
    assert not link.allows(passed_s=0.2, period_s=0.25)


def test_a_long_round_trip_alone_is_no_slow_link(clock: Clock) -> None:
    """A satellite's 600 ms: nothing is spared by painting less often."""
    link = Link(clock)
    for _ in range(3):
        paint(link, clock, 0.6)
        assert link.allows(passed_s=0.5, period_s=0.5)


def test_nothing_is_painted_while_the_last_frame_is_under_way(link: Link, clock: Clock) -> None:
    assert link.asks_behind(FRAME)
    clock.now += 0.1
    assert link.allows(passed_s=9, period_s=0.25)  # a round trip, and some patience
    clock.now += 0.2
    assert link.is_behind
    assert not link.allows(passed_s=9, period_s=0.25)
    link.answered()
    assert not link.is_behind


def test_a_slow_link_gets_less_and_a_fast_one_all_again(link: Link, clock: Clock) -> None:
    """What nobody waits for takes a third of the time at most; 10 kB at 30 kB/s take 0.33 s."""
    paint(link, clock, 0.05 + 0.33)
    assert not link.allows(passed_s=0.9, period_s=0.25)
    assert link.allows(passed_s=1.0, period_s=0.25)
    paint(link, clock, 0.05)
    assert link.allows(passed_s=0.25, period_s=0.25)


def test_small_frames_are_followed_by_no_question(link: Link) -> None:
    assert not link.asks_behind(300)
    assert not link.is_asked


def test_a_terminal_that_never_answers_is_not_asked_for_ever(clock: Clock) -> None:
    link = Link(clock)
    assert link.asks_behind(FRAME)
    clock.now += 5
    assert link.allows(passed_s=5, period_s=0.25)
    assert not link.asks_behind(FRAME)
    assert not link.is_asked


def test_a_lost_answer_stops_nothing_for_long(link: Link, clock: Clock) -> None:
    """As when tmux was detached in between."""
    assert link.asks_behind(FRAME)
    clock.now += 9
    assert link.is_behind
    clock.now += 2
    assert not link.is_behind


def test_a_lost_answer_is_not_made_up_for_by_the_next_question_s(link: Link, clock: Clock) -> None:
    """Two frames in a row, one answer: the terminal, or what stands in for it, swallowed the other."""
    assert link.asks_behind(FRAME)
    assert not link.asks_behind(FRAME)
    clock.now += 0.05
    link.answered()
    assert link.allows(passed_s=0.25, period_s=0.25)
    paint(link, clock, 0.05)
    assert link.allows(passed_s=0.25, period_s=0.25)


def test_answers_that_nobody_waits_for_are_dropped(link: Link) -> None:
    link.answered()
    assert not link.is_behind


def test_in_a_window_without_the_keys_less_is_painted(link: Link) -> None:
    link.is_blurred = True
    assert not link.allows(passed_s=1.9, period_s=0.25)
    assert link.allows(passed_s=2.0, period_s=0.25)
