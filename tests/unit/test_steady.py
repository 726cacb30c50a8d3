"""What only trembles isn't shown anew."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from msgspec import structs

from tests.support.fake_core import gpu, instance
from tui.app.steady import Steady
from tui.gpu import GpuReading
from tui.keeper.states import State
from tui.metrics.live import LiveMetrics, Source
from tui.observe import Snapshot

AT = datetime(2026, 11, 30, 2, tzinfo=UTC)


def moments(*snapshots: Snapshot) -> list[Snapshot]:
    """As they are shown, one after the other."""
    coming = iter(snapshots)
    steady = Steady(lambda: next(coming))
    return [steady() for _ in snapshots]


def gpus(**figures: list[float | None]) -> list[Snapshot]:
    """Moments of one GPU whose figures change."""
    columns = zip(*figures.values(), strict=True)
    return [Snapshot(GpuReading((gpu(0, **dict(zip(figures, row, strict=True))),)), ()) for row in columns]


@pytest.mark.parametrize(
    ("figure", "seen", "shown"),
    [
        ("temperature_c", [60, 61, 60, 59, 62, 61, 60], [60, 60, 60, 60, 62, 62, 60]),
        ("power_w", [400.0, 407.0, 411.0, 395.0, 413.0, 80.0], [400.0, 400.0, 400.0, 400.0, 413.0, 80.0]),
        ("power_w", [40.0, 44.0, 45.0, 42.0], [40.0, 40.0, 45.0, 45.0]),
        ("utilization_percent", [97, 98, 96, 94, 95], [97, 97, 97, 94, 94]),
        ("utilization_percent", [99, 100, 99, 1, 0, 2], [99, 100, 99, 1, 0, 2]),  # idle and full are told exactly
        ("temperature_c", [60, None, 61], [60, None, 61]),
    ],
)
def test_a_figure_is_held_until_it_is_clearly_another(
    figure: str, seen: list[float | None], shown: list[float | None]
) -> None:
    found = [getattr(one.gpus.gpus[0], figure) for one in moments(*gpus(**{figure: seen}))]
    assert found == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(41.7, 41), (119.9, 60), (3599.0, 3540), (7350.0, 7320), (90_000.0, 90_000), (93_599.0, 90_000)],
)
def test_uptime_is_as_exact_as_it_is_written(seconds: float, shown: float) -> None:
    one = instance("a", State.READY, uptime_s=seconds, phase_s=seconds)
    [moment] = moments(Snapshot(GpuReading(), (one,)))
    assert (moment.instances[0].uptime_s, moment.instances[0].phase_s) == (shown, shown)


def test_figures_that_are_the_same_two_seconds_later_make_no_other_moment() -> None:
    live = LiveMetrics(at=AT, source=Source.LOADS, running=3, queued=0)
    later = structs.replace(live, at=AT + timedelta(seconds=2))
    other = structs.replace(later, running=4)
    made = [Snapshot(GpuReading(), (instance("a", State.READY, live=one),)) for one in (live, later, other)]
    first, second, third = moments(*made)
    assert second == first
    assert third == made[-1]


def test_the_same_figures_a_step_of_a_plot_later_are_a_moment_of_their_own() -> None:
    """The plots of the last hour go on where nothing happens, too."""
    live = LiveMetrics(at=AT, source=Source.LOADS, running=0, queued=0)
    times = [AT + timedelta(seconds=after) for after in (0, 14, 15, 16, 30)]
    made = [Snapshot(GpuReading(), (instance("a", State.READY, live=structs.replace(live, at=at)),)) for at in times]
    shown = [one.instances[0].live for one in moments(*made)]
    assert [one.at for one in shown if one is not None] == [times[0], times[0], times[2], times[2], times[4]]


def test_another_gpu_takes_nothing_over() -> None:
    cold, hot = (
        Snapshot(GpuReading((gpu(index, temperature_c=degrees),)), ()) for index, degrees in ((0, 40), (1, 41))
    )
    assert moments(cold, hot)[1] == hot
