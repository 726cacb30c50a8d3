"""The table of servers in any width: no figure is cut, and nothing stands outside of it."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from tests.support.fake_core import FakeCore, gpu, instance, uuid
from tests.support.screen import NARROW, STORY, WIDE, running, screen_lines, screen_text, until_shown
from tui.app.glyphs import ASCII, UNICODE, Glyphs
from tui.app.widgets.instance_rows import fitted, layout, row_of
from tui.diagnosis.progress import Progress, Stage
from tui.gpu import GpuReading
from tui.keeper.states import ALIVE, State
from tui.metrics.live import LiveMetrics, Source
from tui.observe import BrokenRecord, Instance, Snapshot
from tui.units import GIB

AT = datetime(2026, 11, 29, 17, 12, tzinfo=UTC)
NAMES = st.sampled_from(
    ["a", "qwen36-mtp", "deepseek-v3.2-exp-tp8-eagle-long-context", "漢字の長い名前のサーバー-2", "é" * 30]
)
CAUSES = st.sampled_from(
    [None, "512 requests need 294 GiB of state, the pool has 38", "exit 137", "ValueError: 漢字 12345678901234567890"]
)
SHARES = st.none() | st.floats(0, 1)
COUNTS = st.none() | st.integers(0, 4096)
LIVES = st.none() | st.builds(
    LiveMetrics,
    at=st.just(AT),
    source=st.just(Source.METRICS),
    running=COUNTS,
    queued=COUNTS,
    tokens_per_s=st.none() | st.floats(0, 250_000),
    kv_usage=SHARES,
    slot_usage=SHARES,
)
GPUS = st.lists(st.integers(0, 15), max_size=16, unique=True)
INDICES = {uuid(index): index for index in range(16)}


@st.composite
def servers(draw: st.DrawFn) -> Instance:
    state = draw(st.sampled_from(list(State)))
    progress = Progress(Stage.WEIGHT_LOAD, draw(st.integers(0, 163)), 163) if state is State.LOADING else None
    return instance(
        draw(NAMES),
        state,
        attended=draw(st.booleans()),
        progress=progress,
        gpus=tuple(uuid(index) for index in draw(GPUS)),
        port=draw(st.none() | st.integers(1, 65535)),
        uptime_s=draw(st.floats(0, 40 * 86400)) if state in ALIVE else None,
        memory_bytes=draw(st.none() | st.integers(0, 16 * 288 * GIB)),
        memory_by_difference=draw(st.booleans()),
        cause=draw(CAUSES),
        live=draw(LIVES),
    )


@settings(max_examples=150, deadline=None)
@given(st.lists(servers(), min_size=1, max_size=8), st.integers(60, 250), st.sampled_from([UNICODE, ASCII]))
def test_no_figure_is_cut_and_no_row_too_wide(instances: list[Instance], width: int, glyphs: Glyphs) -> None:
    rows = [row_of(one, INDICES, {}, glyphs, selected=False) for one in instances]
    widths = layout(rows, width)
    assert sum(cells + 2 for cells in widths.values()) <= width
    for row in rows:
        cells = dict(zip(widths, fitted(row, widths, glyphs), strict=True))
        for key, cell in cells.items():
            assert cell_len(cell.text) <= widths[key]
            if key not in ("name", "word"):
                assert cell.text.strip() == row[key].text.strip(), key
        for key in ("name", "word"):
            text, kept = row[key].text, cells[key].text.removesuffix(glyphs.ellipsis)
            is_cut = text.startswith(kept) and len(kept) < len(text.rstrip())
            assert glyphs.ascii_only or not (is_cut and kept[-1:].isdigit() and text[len(kept)].isdigit()), kept


def _serving(name: str, number: int) -> Instance:
    live = LiveMetrics(
        at=AT, source=Source.METRICS, running=1024, queued=2048, tokens_per_s=123456.0, kv_usage=1.0, slot_usage=1.0
    )
    return instance(
        name,
        State.READY,
        launch=f"20261129T171001Z-{number:04d}",
        uptime_s=(40 * 24 + 23) * 3600.0,
        memory_bytes=8 * 141 * GIB,
        gpus=tuple(uuid(index) for index in (0, 2, 4, 6, 8, 10, 12, 14)),
        live=live,
    )


@pytest.mark.parametrize("size", [NARROW, (100, 30), STORY, WIDE, (250, 60)])
async def test_thirty_servers_with_long_names_and_large_figures(size: tuple[int, int]) -> None:
    names = ["deepseek-v3.2-exp-tp8-eagle-long-context-experiment-of-november", "漢字の長い名前のサーバー"]
    many = tuple(_serving(f"{names[number % 2]}-{number:02d}", number) for number in range(30))
    loading = instance(
        "newest",
        State.LOADING,
        launch="20261129T191001Z-0001",
        progress=Progress(Stage.WEIGHT_LOAD, 12, 29),
        uptime_s=41.0,
    )
    reading = GpuReading(tuple(gpu(index, name="NVIDIA H200") for index in range(16)))
    snapshot = Snapshot(reading, (*many, loading), (BrokenRecord("old", "launch.json is empty"),))
    async with running(FakeCore(snapshot), size=size) as (app, pilot):
        await until_shown(pilot, app, "loading 12/29")
        text = screen_text(app)
        assert "1128.0" in text
        assert "0,2,4,6,8,10,12,14" in text or size[0] < 120
        # Where there is no column for it, how long it takes already stands behind the stage.
        assert re.search(r"newest .* weights, 41 s" if size[0] <= 100 else r"newest .* 41 s .* weights", text)
        assert max(map(cell_len, screen_lines(app))) <= size[0]
        for cut in re.findall(r"\S+…", text):
            assert not re.search(r"\d…$", cut), cut
