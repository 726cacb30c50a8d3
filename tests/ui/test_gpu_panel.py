"""The GPUs: their last minutes, many of them, parts of one, and ones that are lost or share the host's memory."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.support.fake_core import FakeCore, gpu, holding, identity, instance, uuid
from tests.support.screen import NARROW, STORY, WIDE, look, running, screen_lines, screen_text, until_shown
from tui.app.glyphs import UNICODE
from tui.app.gpu_history import STEP_S
from tui.app.widgets.gpu_lines import panel_lines
from tui.gpu import GpuMemory, GpuProcess, GpuReading, GpuSnapshot
from tui.keeper.states import State
from tui.observe import Snapshot
from tui.units import GIB, MIB

H200 = "NVIDIA H200"


def machine(count: int, *, name: str = H200) -> Snapshot:
    """So many GPUs, each with a server of its own size."""
    sizes = [1.5 + 8 * index for index in range(count)]
    gpus = tuple(
        gpu(index, [holding(100 + index, size)], name=name, total_bytes=143771 * MIB, utilization_percent=index)
        for index, size in enumerate(sizes)
    )
    servers = tuple(
        instance(f"s{index}", State.READY, gpus=(uuid(index),), members=(identity(100 + index),))
        for index in range(count)
    )
    return Snapshot(GpuReading(gpus, driver="580.95"), servers)


@pytest.mark.parametrize("size", [NARROW, (100, 30), STORY, WIDE, (250, 60)])
@pytest.mark.parametrize("count", [1, 8, 16])
async def test_every_gpu_is_seen_with_whole_figures(size: tuple[int, int], count: int) -> None:
    async with running(FakeCore(machine(count)), size=size) as (app, pilot):
        for index in range(count):
            await until_shown(pilot, app, f"{1.5 + 8 * index + 614 / 1024:>5.1f} / 140.4 GiB")
        text = screen_text(app)
        assert max(len(line) for line in screen_lines(app)) <= size[0]
        folded = "16 x H200" in text
        assert folded == (count == 16 and size[1] < 48)


async def test_the_last_minutes_where_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000 * STEP_S]
    monkeypatch.setattr("tui.app.widgets.gpu_panel._clock", lambda: now[0])
    core = FakeCore(machine(2))
    async with running(core, size=STORY) as (app, pilot):
        await until_shown(pilot, app, "at the end: use and memory of the last 3 min")
        assert isinstance(core.now, Snapshot)
        for busy in (100, 50):
            now[0] += STEP_S
            first, second = core.now.gpus.gpus
            core.now = replace(
                core.now, gpus=replace(core.now.gpus, gpus=(replace(first, utilization_percent=busy), second))
            )
            await look(pilot, app, core)
        await until_shown(pilot, app, "50 %")
        [line] = [line for line in screen_lines(app) if line.startswith(" 0 H200")]
        assert re.search(r" W +██ +▁▁▁$", line), line
        monkeypatch.setattr("tui.app.widgets.gpu_panel._clock", lambda: now[0] + STEP_S)
        await pilot.resize_terminal(119, 34)
        await pilot.resize_terminal(*STORY)
        [line] = [line for line in screen_lines(app) if line.startswith(" 0 H200")]
        assert re.search(r" ██▄ +▁▁▁▁$", line), "it goes on though nothing changes"
    async with running(FakeCore(machine(2)), size=(100, 30)) as (app, pilot):
        await until_shown(pilot, app, "1 H200")
        assert "at the end" not in screen_text(app)


def _split() -> Snapshot:
    part = GpuSnapshot(
        0, "MIG-0", "MIG 3g.20gb", GpuMemory(20 * GIB, 6 * GIB, 14 * GIB, 0), processes=(holding(101, 6.0),)
    )
    empty = GpuSnapshot(4, "MIG-4", "MIG 1g.5gb", GpuMemory(5 * GIB, 0, 5 * GIB, 0))
    whole = gpu(0, [holding(101, 6.0)], name="NVIDIA A100-SXM4-40GB", total_bytes=40 * GIB, utilization_percent=None)
    server = instance("small", State.READY, members=(identity(101),))
    return Snapshot(GpuReading((replace(whole, instances=(part, empty)), gpu(1))), (server,))


@pytest.mark.parametrize("size", [NARROW, STORY])
async def test_the_instances_of_a_split_gpu_have_rows(size: tuple[int, int]) -> None:
    async with running(FakeCore(_split()), size=size) as (app, pilot):
        await until_shown(pilot, app, "MIG 3g.20gb")
        text = screen_text(app)
        assert re.search(r"^ 0 A100-SXM4-40GB +A+x?·+ +6.6 / 40.0 GiB", text, re.MULTILINE)
        assert re.search(r"^   0 MIG 3g.20gb +A+·+ +6.0 / 20.0 GiB", text, re.MULTILINE)
        assert re.search(r"^   4 MIG 1g.5gb +·+ +0.0 / 5.0 GiB", text, re.MULTILINE)
        assert "A small 6.0" in text  # once, and not again for the part


async def test_host_memory_is_marked() -> None:
    shared = GpuSnapshot(
        0, uuid(0), "NVIDIA GB10", GpuMemory(120 * GIB, 30 * GIB, 90 * GIB, None),
        utilization_percent=5, processes=(holding(9, 20.0),), shares_host_memory=True,
    )  # fmt: skip
    for size in (NARROW, STORY):
        async with running(FakeCore(Snapshot(GpuReading((shared,)), ())), size=size) as (app, pilot):
            await until_shown(pilot, app, "host memory  30.0 / 120.0 GiB")
            assert "~ the host's own programs 10.0" in screen_text(app)


async def test_a_lost_gpu_says_since_when_and_what_to_do() -> None:
    since = datetime(2026, 11, 29, 17, 3, tzinfo=UTC)
    ill = GpuSnapshot(
        1, uuid(1), H200, None, problem="this GPU is lost: look for Xid in `dmesg`, then reboot", problem_since=since
    )
    core = FakeCore(Snapshot(GpuReading((gpu(0, name=H200), ill)), ()))
    async with running(core, size=NARROW) as (app, pilot):
        await until_shown(pilot, app, f"1 H200  ✗ since {since.astimezone():%H:%M}: this GPU is lost: look for Xid in")


async def test_memory_told_by_difference_is_the_servers_and_marked() -> None:
    # The driver names pids of another namespace: one that nobody here knows, and what was there before.
    one = gpu(0, [GpuProcess(2_000_111, 40 * GIB), holding(3321, 0.8, "bob", "/usr/bin/python3 train.py")])
    hidden = instance("hidden", State.READY, memory_bytes=39 * GIB, memory_by_difference=True, members=(identity(50),))
    core = FakeCore(Snapshot(GpuReading((one,)), (hidden,)))
    async with running(core) as (app, pilot):
        await until_shown(pilot, app, "A hidden, by difference 39.0")
        text = screen_text(app)
        assert "? python3, pid 3321, user bob 0.8   ~ not told by the driver 1.0" in text
        assert re.search(r"hidden +● ready +0 +30000 +~39.0 ", text)
        await pilot.press("x")
        await until_shown(pilot, app, "pid 4211 on GPU 0 holds about 39.0 GiB")


def test_two_servers_that_are_told_by_difference_share_nothing() -> None:
    one = gpu(0, [GpuProcess(2_000_111, 40 * GIB)])
    servers = tuple(
        instance(name, State.READY, memory_bytes=39 * GIB, memory_by_difference=True) for name in ("a", "b")
    )
    text = "\n".join(line.plain for line in panel_lines(Snapshot(GpuReading((one,)), servers), {}, 100, UNICODE))
    assert "? pid 2000111 40.0" in text


@given(
    st.integers(58, 250),
    st.integers(1, 16),
    st.integers(5, 40),
    st.sampled_from([H200, "漢字の長い名前のカード", "A" * 60]),
)
def test_no_line_is_too_wide_and_no_figure_is_cut(width: int, count: int, height: int, name: str) -> None:
    snapshot = machine(count, name=name)
    lines = panel_lines(snapshot, {}, width, UNICODE, history=lambda _: [(0.5, 0.5)] * 24, height=height)
    assert all(line.cell_length <= width for line in lines)
    text = "\n".join(line.plain for line in lines)
    for index in range(count):
        assert f"{1.5 + 8 * index + 614 / 1024:.1f} / 140.4 GiB" in text
