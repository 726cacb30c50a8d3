"""Telling whether a launch's memory came back, from readings written by hand (GiB on one or two GPUs)."""

from __future__ import annotations

import pytest

from tui.keeper.gpu_memory import GpuMemoryReading
from tui.keeper.release import Release
from tui.units import GIB

OURS, OTHERS = 100, 200


def reading(used: dict[str, float], **held: dict[str, float]) -> GpuMemoryReading:
    """`reading({"a": 70}, ours={"a": 70})`."""
    pids = {"ours": OURS, "others": OTHERS}
    return GpuMemoryReading(
        {gpu: int(size * GIB) for gpu, size in used.items()},
        {pids[who]: {gpu: int(size * GIB) for gpu, size in sizes.items()} for who, sizes in held.items()},
    )


BEFORE = reading({"a": 75, "b": 71}, ours={"a": 70, "b": 70}, others={"a": 4})


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        pytest.param(reading({"a": 5, "b": 1}, others={"a": 4}), True, id="all back"),
        pytest.param(reading({"a": 45, "b": 1}, others={"a": 44}), True, id="another process grew meanwhile"),
        pytest.param(reading({"a": 1, "b": 1}), True, id="another process ended meanwhile"),
        pytest.param(reading({"a": 75, "b": 1}, ours={"a": 70}), False, id="still listed"),
        pytest.param(reading({"a": 75, "b": 1}, others={"a": 4}), False, id="gone from the list, memory still taken"),
        pytest.param(reading({"a": 5.2, "b": 1}, others={"a": 4}), True, id="within what drivers breathe"),
        pytest.param(reading({"a": 5}, others={"a": 4}), None, id="a GPU was lost"),
        pytest.param(None, None, id="unreadable"),
    ],
)
def test_release_where_the_driver_names_processes(after: GpuMemoryReading | None, expected: bool | None) -> None:
    assert Release(["a", "b"], BEFORE, {}, frozenset({OURS})).check(after) is expected


@pytest.mark.parametrize(
    ("after_gib", "baseline_gib", "expected"),
    [(1.0, 1.0, True), (1.2, 1.0, True), (40.0, 1.0, None), (1.0, None, None)],
)
def test_release_where_the_driver_names_none_is_proved_by_the_state_before_the_launch_alone(
    after_gib: float, baseline_gib: float | None, expected: bool | None
) -> None:
    baseline = {} if baseline_gib is None else {"a": int(baseline_gib * GIB)}
    release = Release(["a"], reading({"a": 71}), baseline, frozenset({OURS}))
    assert release.check(reading({"a": after_gib})) is expected


def test_a_launch_without_gpus_has_nothing_to_give_back() -> None:
    release = Release([], None, {}, frozenset({OURS}))
    assert release.check(None) is True
    assert release.held_gib(BEFORE) is None


OURS_ON_BOTH = Release(["a", "b"], BEFORE, {}, frozenset({OURS}))


@pytest.mark.parametrize(
    ("at", "gib"),
    [
        pytest.param(BEFORE, 140.0, id="the members' own, on both GPUs"),
        pytest.param(reading({"a": 45, "b": 1}, others={"a": 44}), 0.0, id="others grew"),
        pytest.param(reading({"a": 75, "b": 1}, others={"a": 4}), 70.0, id="nobody's now"),
        pytest.param(reading({"a": 35, "b": 1}, ours={"a": 30}, others={"a": 4}), 30.0, id="half gone"),
        pytest.param(reading({"a": 5}), None, id="a GPU was lost"),
        pytest.param(None, None, id="unreadable"),
    ],
)
def test_what_the_launch_holds_is_its_own_share_not_the_gpu_s(at: GpuMemoryReading | None, gib: float | None) -> None:
    assert OURS_ON_BOTH.held_gib(at) == gib


def test_where_the_driver_names_no_process_the_share_is_what_came_since_the_launch() -> None:
    unnamed = reading({"a": 71})
    assert Release(["a"], unnamed, {"a": GIB}, frozenset({OURS})).held_gib(unnamed) == 70.0
    assert Release(["a"], unnamed, {}, frozenset({OURS})).held_gib(unnamed) is None
