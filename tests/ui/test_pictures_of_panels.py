"""Pictures of help, live figures, flag editor, launch form and log. Each says what a person should see."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from msgspec.structs import replace
from textual.pilot import Pilot

from tests.support.budgets import EXCEEDS, FITS
from tests.support.fake_core import NAME_6000, FakeCore, Subject, gpu, preset, story
from tests.support.screen import NARROW, STORY, screen_text, until, until_shown
from tui.app.app import SgltuiApp
from tui.app.core import Adjusted
from tui.budget.types import FlagChange, MemoryBudget, Verdict
from tui.metrics.limits import Bound
from tui.metrics.live import LiveMetrics, Source
from tui.observe import Snapshot
from tui.presets import Evidence
from tui.presets.proof import Standing

SnapCompare = Callable[..., bool]
WHERE = "gpu-box-7"
AT = datetime(2026, 11, 29, 17, 12, tzinfo=UTC)
FLAGS = (
    *("--model-path", "Qwen/Qwen3.6-27B", "--port", "30000", "--mem-fraction-static", "0.8"),
    *("--max-running-requests", "48", "--speculative-algorithm", "EAGLE", "--trust-remote-code"),
)
RELIEFS = (
    FlagChange(
        {"mamba-ssm-dtype": "bfloat16"}, (), None, Verdict.FITS, "91k tokens, 13 requests at once",
        "precision of the recurrent state",
    ),
    FlagChange(
        {"max-running-requests": "12"}, (), None, Verdict.TIGHT, "148k tokens, 12 requests at once",
        "25k tokens of KV cache",
    ),
)  # fmt: skip
SERVING = "[2026-11-29 17:{minute:02}:{second:02}] {what}\n"


def _as_app(pilot: Pilot[None]) -> SgltuiApp:
    assert isinstance(pilot.app, SgltuiApp)
    return pilot.app


def _ready_alone(folder: Path) -> Snapshot:
    """The server of the story that serves, alone, with a log."""
    snapshot = story(folder)
    log = "".join(map(_log_line, range(60)))
    snapshot.instances[0].log_path.write_text(log)
    return replace(
        snapshot,
        gpus=replace(snapshot.gpus, gpus=(snapshot.gpus.gpus[0], gpu(1))),
        instances=snapshot.instances[:1],
    )


def _fits_with_eight(about: Subject) -> MemoryBudget:
    taken = isinstance(about, Adjusted) and ("max-running-requests", ("8",)) in about.edit.set
    return FITS if taken else EXCEEDS


def _hour() -> tuple[LiveMetrics, ...]:
    """More and more requests come; for the last ten minutes there are more than it has places for."""
    minutes = range(60)
    return tuple(_minute(AT - timedelta(minutes=59 - minute), minute) for minute in minutes) + tuple(
        _minute(AT + timedelta(seconds=2 * look), 59) for look in range(1, 30)
    )


def _minute(at: datetime, minute: int) -> LiveMetrics:
    running = min(8, minute // 6)
    return LiveMetrics(
        at=at,
        source=Source.METRICS,
        running=running,
        queued=max(0, minute - 50),
        max_running=8,
        tokens_per_s=58.0 * running,
        kv_usage=0.05 * running,
        slot_usage=running / 8,
    )


def test_help_120x34(snap_compare: SnapCompare, tmp_path: Path) -> None:
    # A box over a dimmed dashboard: keys in blue, and in a second column what each does in one sentence, those that
    # launch and end servers first; a bar at the right says that there is more below, the frame's foot how to close it.
    core = FakeCore(_ready_alone(tmp_path))
    core.budget = FITS
    app = SgltuiApp(core, where=WHERE)

    async def ready(pilot: Pilot[None]) -> None:
        await until_shown(pilot, app, "● ready")
        await until_shown(pilot, app, "FITS")
        await until_shown(pilot, app, "#token: 59000")
        await pilot.press("question_mark")
        await until_shown(pilot, app, "Esc closes")

    assert snap_compare(app, terminal_size=STORY, run_before=ready)


def test_live_figures_120x34(snap_compare: SnapCompare, tmp_path: Path) -> None:
    # On an ochre ground what limits it, and the figures that show it; two numbered changes in columns with their effect
    # and price; five curves of one hour, the upper ones rising to the right, each with what it is now and was at most.
    snapshot, hour = _ready_alone(tmp_path), _hour()
    core = FakeCore(replace(snapshot, instances=(replace(snapshot.instances[0], live=hour[-1]),)))
    core.histories["qwen36-mtp"] = hour
    core.reliefs[Bound.SLOTS] = RELIEFS
    app = SgltuiApp(core, where=WHERE)

    async def ready(pilot: Pilot[None]) -> None:
        await until_shown(pilot, app, "6: limit: slots")
        await pilot.press("6")
        await until_shown(pilot, app, "max-running-requests 12")
        await until_shown(pilot, app, "#token: 59000")

    assert snap_compare(app, terminal_size=STORY, run_before=ready)


def test_flags_changed_120x34(snap_compare: SnapCompare, tmp_path: Path) -> None:
    # The flags as a list, the changed one first with a + and what it was; on the right a green FITS, where the flags
    # as they were didn't fit, with bar, table and what stays free after each stage; what other GPUs would make of it;
    # below what is taken away in red and what comes in its place in green.
    core = FakeCore(_ready_alone(tmp_path))
    core.budget, core.words = _fits_with_eight, FLAGS
    app = SgltuiApp(core, where=WHERE)

    async def ready(pilot: Pilot[None]) -> None:
        await until_shown(pilot, app, "● ready")
        await pilot.press("R")
        await until_shown(pilot, app, "DOESN'T FIT")
        await pilot.press("1")
        await until_shown(pilot, app, "FITS  173k tokens")
        await until_shown(pilot, app, "GPU 0: fits · GPU 1: fits")

    assert snap_compare(app, terminal_size=STORY, run_before=ready)


def test_presets_and_how_far_they_are_proven_120x34(snap_compare: SnapCompare, tmp_path: Path) -> None:
    # Six presets in columns: name, a sign and a word for how far it is proven - green where it was proven here, ochre
    # where it has changed since, grey for the rest - and what it is; below the facts of the marked one, with what it
    # ran on, and its budget here; the keys in the frame.
    proof = Evidence(status="verified", gpu=NAME_6000, gpus=1, sglang="0.5.11", digest="d" * 16)
    core = FakeCore(
        _ready_alone(tmp_path),
        [
            preset(evidence=proof),
            preset("qwen36-long", description="the same with 262k tokens a request", evidence=proof),
            preset("gemma3-27b", description="27B dense, long context", evidence=proof),
            preset("llama8b", description="8B, fp8", evidence=Evidence(status="verified", note="64 users at once")),
            preset(
                "qwen3-coder", description="30B MoE", evidence=Evidence(status="computed", note="planned for 0.5.11")
            ),
            preset("scratch", description="what I try", evidence=None),
        ],
    )
    core.judged = {
        "qwen36-mtp": (Standing.PROVEN_HERE, "it ran on RTX PRO 6000 with SGLang 0.5.11"),
        "qwen36-long": (
            Standing.PROVEN_ELSEWHERE,
            "it ran on NVIDIA H200 with SGLang 0.5.11; such GPUs aren't here",
        ),
    }
    core.budget = FITS
    app = SgltuiApp(core, where=WHERE)

    async def ready(pilot: Pilot[None]) -> None:
        await until_shown(pilot, app, "FITS")
        await until_shown(pilot, app, "#token: 59000")
        await pilot.press("a")
        await until_shown(pilot, app, "✓ proven here")
        await pilot.press("down")
        await until_shown(pilot, app, "ran on NVIDIA H200")
        await until_shown(pilot, app, "Budget ▸ qwen36-long ── planned")
        await until(pilot, lambda: screen_text(app).count("FITS") == 2, "one on the dashboard, one in the form")

    assert snap_compare(app, terminal_size=STORY, run_before=ready)


def test_a_search_in_the_log_80x24(snap_compare: SnapCompare, tmp_path: Path) -> None:
    # The log alone: what matches in dark letters on ochre, also in the line of the newest match, which has a pointer
    # and is blue from edge to edge; warnings in ochre with a ! before them; the panel's last line says what is searched
    # for, and which of how many matches this is; long lines end with an ellipsis.
    app = SgltuiApp(FakeCore(_ready_alone(tmp_path)), where=WHERE)

    async def ready(pilot: Pilot[None]) -> None:
        await until_shown(pilot, app, "● ready")
        await pilot.press("l")
        await until_shown(pilot, app, "#token: 59000")
        await pilot.press("slash", *"ret?ract", "enter")
        await until_shown(pilot, app, "6 of 6")
        await until_shown(pilot, app, "60 lines")

    assert snap_compare(app, terminal_size=NARROW, run_before=ready)


def _log_line(number: int) -> str:
    what = (
        f"KV cache pool is full. Retract requests. #retracted_reqs: {number // 10}, #new_token_ratio: 0.16 -> 0.34"
        if number % 10 == 4
        else f"Decode batch, #running-req: 8, #token: {number * 1000}, token usage: 0.31, #queue-req: 0"
    )
    return SERVING.format(minute=number // 2, second=number % 2 * 30, what=what)
