"""The arithmetic of the bars, and who is who in them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from textual.content import Content

from tests.support.fake_core import gpu, holding, identity, instance, story, uuid
from tui.app.glyphs import ASCII, UNICODE, Glyphs
from tui.app.holders import (
    FOREIGN,
    RESERVED,
    UNTOLD,
    Holder,
    assign_letters,
    holders_of,
    lettered_names,
    merge,
    owners_by_pid,
    share_cells,
)
from tui.app.widgets.gpu_lines import bar_content, panel_lines
from tui.gpu import GpuMemory, GpuProcess, GpuReading, GpuSnapshot
from tui.keeper.states import State
from tui.observe import Snapshot
from tui.units import GIB, MIB

sizes = st.lists(st.one_of(st.just(0), st.integers(1, 200 * GIB)), min_size=1, max_size=12)


@settings(max_examples=100, deadline=None)
@given(sizes, st.integers(0, 160))
def test_cells_sum_to_the_width_and_every_holder_is_visible(held: list[int], width: int) -> None:
    cells = share_cells(held, width)
    assert len(cells) == len(held)
    assert sum(cells) == (width if any(held) else 0)
    assert all(count == 0 for count, size in zip(cells, held, strict=True) if size == 0)
    if width >= sum(1 for size in held if size):
        assert all(count >= 1 for count, size in zip(cells, held, strict=True) if size)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(20 * GIB, 200 * GIB), min_size=1, max_size=6), st.integers(40, 160))
def test_large_holders_get_their_share_to_a_cell(held: list[int], width: int) -> None:
    for count, size in zip(share_cells(held, width), held, strict=True):
        assert abs(count - size * width / sum(held)) <= 1


def test_shares_computed_by_hand() -> None:
    # 71.8 of 100 is 71.8 cells, but both small ones need a cell: 72 + 1 + 1 + 26.
    assert share_cells([718, 1, 2, 279], 100) == [71, 1, 1, 27]
    assert share_cells([1, 1], 3) in ([2, 1], [1, 2])
    assert share_cells([5, 9, 7], 2) == [0, 1, 1]
    assert share_cells([0, 0], 10) == [0, 0]


def test_a_letter_stays_with_its_server_while_it_is_shown() -> None:
    first = assign_letters({}, ["one", "two"])
    assert first == {"one": "A", "two": "B"}
    assert assign_letters(first, ["zero", "two"]) == {"zero": "A", "two": "B"}
    assert assign_letters(first, ["two"]) == {"two": "B"}


def test_no_letter_is_the_sign_of_reserved_memory() -> None:
    letters = assign_letters({}, [f"server-{number}" for number in range(60)])
    assert "x" not in letters.values()
    assert len(set(list(letters.values())[:51])) == 51
    assert letters["server-59"] == "+"


def test_members_of_other_hosts_own_no_pid_here(tmp_path: Path) -> None:
    far = instance("far", State.READY, local=False, members=(identity(3321),))
    snapshot = story(tmp_path)
    assert owners_by_pid([*snapshot.instances, far]) == {4211: "qwen36-mtp", 5120: "llama8b"}
    assert "far" not in lettered_names(Snapshot(snapshot.gpus, (far,)))


def test_holders_of_the_story(tmp_path: Path) -> None:
    snapshot = story(tmp_path)
    letters = assign_letters({}, lettered_names(snapshot))
    holders = holders_of(snapshot.gpus.gpus[0], owners_by_pid(snapshot.instances), letters)
    assert [(holder.sign, holder.label) for holder in holders] == [
        ("A", "qwen36-mtp"),
        ("?", "python3, pid 3321, user bob"),
        ("x", "reserved"),
    ]


def test_processes_of_one_server_are_one_holder() -> None:
    memory = gpu(0, [holding(10, 1.0), holding(11, 2.0)])
    holders = holders_of(memory, {10: "tp", 11: "tp"}, {"tp": "A"})
    assert [(holder.sign, holder.size_bytes) for holder in holders if holder.sign == "A"] == [("A", 3 * GIB)]


def test_memory_that_no_process_explains_is_said() -> None:
    untold = GpuSnapshot(0, uuid(0), "NVIDIA H200", GpuMemory(100 * GIB, 30 * GIB, 70 * GIB, None))
    assert [(one.sign, one.label, one.size_bytes) for one in holders_of(untold, {}, {})] == [
        ("~", "driver, or not told by it", 30 * GIB)
    ]
    idle = GpuSnapshot(0, uuid(0), "NVIDIA H200", GpuMemory(100 * GIB, 4 * MIB, 100 * GIB - 4 * MIB, 0))
    assert holders_of(idle, {}, {}) == ()


def test_the_legend_says_the_gpus_of_who_has_no_row() -> None:
    def lines(*gpus: GpuSnapshot) -> str:
        snapshot = Snapshot(GpuReading(gpus), (instance("tp", State.READY, members=(identity(10),)),))
        return "\n".join(line.plain for line in panel_lines(snapshot, {"tp": "A"}, 160, UNICODE))

    ours, bobs = holding(10, 2.0), holding(3321, 0.8, "bob", "/usr/bin/python3 train.py")
    untold = GpuMemory(100 * GIB, 30 * GIB, 70 * GIB, None)
    bare = GpuSnapshot(2, uuid(2), "NVIDIA H200", untold)
    text = lines(gpu(0, [ours]), gpu(1, [ours, bobs]), bare)
    assert "A tp 4.0   ? GPU 1: python3, pid 3321, user bob 0.8   ~ GPU 2: driver, or not told by it 30.0" in text
    assert "? GPU 0,1: python3, pid 3321, user bob 1.6" in lines(gpu(0, [bobs]), gpu(1, [bobs]))
    assert "? python3, pid 3321, user bob 0.8" in lines(gpu(0, [bobs]))


@pytest.mark.parametrize("glyphs", [UNICODE, ASCII], ids=["unicode", "ascii"])
def test_no_two_signs_of_the_bars_are_the_same(glyphs: Glyphs) -> None:
    letters = assign_letters({}, [f"server-{number}" for number in range(60)])
    others = [FOREIGN, UNTOLD, RESERVED, glyphs.free, glyphs.problem, *filter(None, [glyphs.edge])]
    signs = [*set(letters.values()), *others]
    assert len(set(signs)) == len(signs)


def test_a_size_that_the_driver_does_not_tell_is_a_dash() -> None:
    unknown = Holder("?", "pid 7", None, "$foreign")
    assert merge([unknown, unknown])[0].size_bytes is None
    reading = GpuReading((gpu(0, [GpuProcess(7, None)]),))
    lines = [line.plain for line in panel_lines(Snapshot(reading, ()), {}, 100, UNICODE)]
    assert any("? pid 7 -" in line for line in lines)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 95 * GIB), st.integers(0, 140), st.sampled_from([ASCII, UNICODE]))
def test_a_bar_is_as_wide_as_it_should(used: int, cells: int, glyphs: object) -> None:
    chosen = ASCII if glyphs is ASCII else UNICODE
    bar = bar_content([Holder("A", "a", used, "$holder-1")], 96 * GIB - used, cells, chosen)
    assert isinstance(bar, Content)
    assert bar.cell_length == max(cells, 2 * len(chosen.edge))


@settings(max_examples=60, deadline=None)
@given(st.integers(58, 200), st.lists(st.floats(0, 30), max_size=6), st.sampled_from([1, 8]))
def test_no_line_of_the_panel_is_wider_than_the_panel(width: int, held: list[float], count: int) -> None:
    processes = [holding(100 + number, gib) for number, gib in enumerate(held)]
    snapshot = Snapshot(GpuReading(tuple(gpu(index, processes) for index in range(count))), ())
    for line in panel_lines(snapshot, {}, width, UNICODE):
        assert line.cell_length <= width
