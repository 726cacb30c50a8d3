"""Pictures of the dashboard in other sizes, themes and signs. Each says in a sentence what a person should see."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace
from textual.pilot import Pilot

from tests.support.budgets import FITS, timeline
from tests.support.fake_core import FakeCore, gpu, holding, identity, instance, story, uuid
from tests.support.screen import NARROW, STORY, WIDE, look, until_shown
from tui.app.app import SgltuiApp
from tui.app.gpu_history import STEP_S
from tui.app.preferences import Preferences
from tui.budget.types import Card, MemoryBudget
from tui.budget.types import Stage as Room
from tui.diagnosis.progress import Progress, Stage
from tui.errors import RefusedError
from tui.gpu import GpuProblem, GpuReading, GpuSnapshot
from tui.keeper.states import State
from tui.metrics.live import LiveMetrics, Source
from tui.observe import Instance, Snapshot
from tui.units import GIB, MIB

SnapCompare = Callable[..., bool]
WHERE = "gpu-box-7"
AT = datetime(2026, 11, 29, 17, 12, tzinfo=UTC)
LOADING_LOG = """\
[2026-11-29 19:10:03] server_args=ServerArgs(model_path='meta-llama/Llama-3.1-8B-Instruct', port=30001)
[2026-11-29 19:10:41] Load weight begin. avail mem=94.30 GB
Loading safetensors checkpoint shards:  41% Completed | 12/29 [00:05<00:07,  2.31it/s]
"""
DECODING = (
    "[2026-11-29 17:{minute:02}:{second:02} TP0] Decode batch, #running-req: {running}, #token: {tokens}, "
    "token usage: {usage:.2f}, cuda graph: True, gen throughput (token/s): {speed:.2f}, #queue-req: 0\n"
)
BUSY_OF_FOUR = (0, 0, 12, 64, 97, 99, 83, 41, 96, 98, 22, 88)
HELD_GIB = ((80.6, 80.4, 80.4, 80.4), (128.4, 128.1), (22.7,))


def _as_app(pilot: Pilot[None]) -> SgltuiApp:
    assert isinstance(pilot.app, SgltuiApp)
    return pilot.app


def _story(folder: Path) -> Snapshot:
    snapshot = story(folder)
    snapshot.instances[1].log_path.write_text(LOADING_LOG)
    return snapshot


def _server(name: str, first_gpu: int, held: tuple[float, ...], folder: Path, state: State, **more: object) -> Instance:
    """A server on as many GPUs as it holds something on."""
    pids = [4000 + first_gpu + rank for rank in range(len(held))]
    return instance(
        name,
        state,
        gpus=tuple(uuid(first_gpu + rank) for rank in range(len(held))),
        port=30000 + first_gpu,
        pid=pids[0],
        members=tuple(map(identity, pids)),
        memory_bytes=round(sum(held) * GIB),
        log_path=folder / f"{name}.log",
        **more,
    )


def _box_of_eight(folder: Path, step: int) -> Snapshot:
    """Eight H200: a server on four, one on two, one that loads, and one GPU that nobody uses."""
    four, two, one = HELD_GIB
    live = LiveMetrics(
        at=AT, source=Source.METRICS, running=31, queued=2, tokens_per_s=2841.0, kv_usage=0.874, accept_length=2.6
    )
    quiet = LiveMetrics(
        at=AT, source=Source.METRICS, running=1, queued=0, tokens_per_s=58.2, kv_usage=0.021, slot_usage=0.125
    )
    servers = (
        _server(
            "qwen36-tp4", 0, four, folder, State.READY, launch="20261125T200001Z-0001", uptime_s=93 * 3600.0, live=live,
        ),
        _server(
            "gpt-oss-120b", 4, two, folder, State.READY, launch="20261129T154501Z-0002", uptime_s=5000.0, live=quiet,
        ),
        _server(
            "llama70b", 6, one, folder, State.LOADING, launch="20261129T170801Z-0003", uptime_s=41.0,
            progress=Progress(Stage.WEIGHT_LOAD, 12, 29),
        ),
        instance("gemma3", State.STOPPED, launch="20261128T101001Z-0001", pid=None, log_path=folder / "gemma3.log"),
    )  # fmt: skip
    held = [*((4000 + index, gib) for index, gib in enumerate((*four, *two, *one))), None]
    busy = (*[BUSY_OF_FOUR[step]] * 4, *[3 + 2 * step] * 2, 1, 0)
    return Snapshot(GpuReading(tuple(map(_h200, range(8), held, busy)), driver="580.95"), servers)


def _h200(index: int, holder: tuple[int, float] | None, busy: int) -> GpuSnapshot:
    return gpu(
        index,
        [holding(*holder)] if holder else [],
        name="NVIDIA H200",
        total_bytes=143771 * MIB,
        utilization_percent=busy,
        temperature_c=38 + busy // 3,
        power_w=118.0 + 5 * busy,
    )


def _over_four() -> MemoryBudget:
    """What `FITS` takes, on each of four H200."""
    [rank] = FITS.ranks
    free = timeline(
        ("start", 137.7, Room.WEIGHTS), ("weights", 86.6, Room.WEIGHTS), ("draft", 54.9, Room.DRAFT),
        ("serving", 58.4, Room.RUNTIME),
    )  # fmt: skip
    return replace(
        FITS,
        reason="173k tokens, 8 requests at once; 54.90 GiB stay free at the tightest moment (draft)",
        cards=tuple(Card(index, "NVIDIA H200", 143771) for index in range(4)),
        ranks=tuple(replace(rank, gpu=index, total=143771 * MIB, timeline=free) for index in range(4)),
    )


def test_eight_gpus_160x48(snap_compare: SnapCompare, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Eight bars of one length: four with a blue A, two nearly full of an ochre B, a short C, the last one empty; behind
    # each two plots, how busy it was - up and down for A, climbing for B - and how full. The table has columns for
    # requests, tokens a second, KV and slots, figures for the ready two and dashes for the others; the budget's one bar
    # stands for the four GPUs. No column is ragged, and only the log is cut, with an ellipsis.
    now = [100 * STEP_S]
    monkeypatch.setattr("tui.app.widgets.gpu_panel._clock", lambda: now[0])
    core = FakeCore(_box_of_eight(tmp_path, 0))
    core.budget = _over_four()
    (tmp_path / "qwen36-tp4.log").write_text(
        "".join(
            DECODING.format(
                minute=11, second=20 + step, running=31, tokens=401_000 + 1000 * step, usage=0.87, speed=2841
            )
            for step in range(30)
        )
    )

    async def ready(pilot: Pilot[None]) -> None:
        app = _as_app(pilot)
        await until_shown(pilot, app, "● ready")
        for step in range(1, len(BUSY_OF_FOUR)):
            now[0] += STEP_S
            core.now = _box_of_eight(tmp_path, step)
            await look(pilot, app, core)
        await pilot.press("j", "j")
        await until_shown(pilot, app, "#token: 430000")
        await until_shown(pilot, app, "0-3 H200")
        await until_shown(pilot, app, "6: live")

    assert snap_compare(SgltuiApp(core, where=WHERE), terminal_size=WIDE, run_before=ready)


def test_light_120x34(snap_compare: SnapCompare, tmp_path: Path) -> None:
    # The dashboard in dark letters on white: every word as easy to read as in the dark, a green FITS and a red FAILED
    # among them, grey only for what matters less, and the selected row on a light grey ground.
    core = FakeCore(_story(tmp_path))
    core.budget = FITS
    app = SgltuiApp(core, where=WHERE, preferences=Preferences(theme="sgltui-light"))

    async def ready(pilot: Pilot[None]) -> None:
        await until_shown(pilot, app, "12/29 [00:05")
        await until_shown(pilot, app, "FITS")

    assert snap_compare(app, terminal_size=STORY, run_before=ready)


def test_ascii_without_colour_80x24(snap_compare: SnapCompare, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Nothing but greys and signs of a typewriter: frames of + - and |, bars of letters and dots between two |, a word
    # or a sign for each state, > before the selected server; what failed is as loud as can be without red.
    monkeypatch.setenv("NO_COLOR", "1")
    core = FakeCore(_story(tmp_path))
    core.budget = FITS
    app = SgltuiApp(core, where=WHERE, ascii_only=True)

    async def ready(pilot: Pilot[None]) -> None:
        await until_shown(pilot, app, "FITS")

    assert snap_compare(app, terminal_size=NARROW, run_before=ready)


def test_first_run_80x24(snap_compare: SnapCompare) -> None:
    # A machine with nothing: a red cross, no driver, and what to do about it in the place of the GPUs; no servers yet
    # and the key that launches one; a red cross, no SGLang, and how to get it; no panel is empty, no sentence is cut.
    problem = GpuProblem(
        "no NVIDIA driver found (libnvidia-ml.so.1 is missing)", "install the driver, or try `sgltui demo`"
    )
    core = FakeCore(Snapshot(GpuReading(problem=problem), ()))
    core.runs = RefusedError(
        "no Python with SGLang found", "install it (`pip install sglang`), or name its Python in config.toml"
    )
    app = SgltuiApp(core, where=WHERE)

    async def ready(pilot: Pilot[None]) -> None:
        await until_shown(pilot, app, "no Python with SGLang found")

    assert snap_compare(app, terminal_size=NARROW, run_before=ready)
