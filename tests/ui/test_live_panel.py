"""What a server does, what limits it and what would help, as a person meets it."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from textual.geometry import Region
from textual.widget import Widget

from tests.support.fake_core import FakeCore, story
from tests.support.screen import NARROW, STORY, WIDE, look, running, screen_lines, screen_text, until, until_shown
from tui.app.app import SgltuiApp
from tui.app.screens.adjust import AdjustScreen
from tui.app.widgets.live_panel import LivePanel
from tui.budget.types import FlagChange, Verdict
from tui.errors import SgltuiError
from tui.metrics.limits import Bound
from tui.metrics.live import LiveMetrics, Source
from tui.observe import Snapshot

START = datetime(2026, 11, 29, 17, 12, tzinfo=UTC)
SLOTS = FlagChange(
    {"mamba-ssm-dtype": "bfloat16"},
    (),
    None,
    Verdict.FITS,
    "13 requests at once, 91 000 tokens",
    "precision of the recurrent state",
)
FULL: dict[str, Any] = {"running": 8, "queued": 4, "max_running": 8, "kv_usage": 0.314, "slot_usage": 1.0}


def figures(count: int, *, minutes_ago: int = 0, source: Source = Source.METRICS, **fields: Any) -> list[LiveMetrics]:
    """Looks two seconds apart, the last of them so long ago."""
    end = START - timedelta(minutes=minutes_ago)
    times = (end - timedelta(seconds=2 * before) for before in reversed(range(count)))
    return [LiveMetrics(at=at, source=source, tokens_per_s=412.0, **fields) for at in times]


def serving(core: FakeCore, history: list[LiveMetrics], tmp_path: Path) -> None:
    """`qwen36-mtp`, the ready one and here the only one, did this until now."""
    core.histories["qwen36-mtp"] = tuple(history)
    snapshot = story(tmp_path)
    core.now = replace(snapshot, instances=(replace(snapshot.instances[0], live=history[-1]),))


def core_of(history: list[LiveMetrics], tmp_path: Path) -> FakeCore:
    core = FakeCore(story(tmp_path))
    core.reliefs[Bound.SLOTS] = (SLOTS,)
    serving(core, history, tmp_path)
    return core


async def _until_offered(pilot: Any, app: SgltuiApp) -> None:
    await pilot.press("6")
    await until_shown(pilot, app, "mamba-ssm-dtype bfloat16")


@pytest.mark.parametrize("size", [NARROW, (100, 30), STORY, WIDE, (250, 60)])
async def test_what_limits_it_what_helps_and_the_last_hour(tmp_path: Path, size: tuple[int, int]) -> None:
    history = figures(30, minutes_ago=30, running=2, queued=0, max_running=8, kv_usage=0.1, slot_usage=0.25)
    core = core_of([*history, *figures(30, **FULL)], tmp_path)
    async with running(core, size=size) as (app, pilot):
        await until_shown(pilot, app, "6: limit: slots")
        await _until_offered(pilot, app)
        text = screen_text(app)
        sentence = "LIMITED by state slots 4 requests wait while 100% of the state slots are taken"
        assert sentence in " ".join(text.split())
        assert "costs precision of the recurrent state" in " ".join(text.split())
        assert re.search(r"last hour, a minute a cell +now" + (" +most" if size[0] > 80 else "$"), text, re.MULTILINE)
        curves = {
            line.split()[0]: line for line in screen_lines(app) if re.match(r" (run|queue|tok/s|KV|slots) ", line)
        }
        assert list(curves) == ["run", "queue", "tok/s", "KV", "slots"]
        assert re.search(r" run   ·{28}▂▂·{28}[▆▇]{2} +8", curves["run"])  # the top is 10
        assert "31%" in curves["KV"].split()
        assert max(len(line) for line in screen_lines(app)) <= size[0]
    assert core.relieved == [("qwen36-mtp/20261129T171001Z-0007", Bound.SLOTS)]


async def test_what_would_help_is_worked_out_only_when_the_limit_changes(tmp_path: Path) -> None:
    core = core_of(figures(30, **FULL), tmp_path)
    async with running(core) as (app, pilot):
        await _until_offered(pilot, app)
        for later in (1, 2):
            serving(core, figures(30, minutes_ago=-later, **{**FULL, "queued": 4 + later}), tmp_path)
            await look(pilot, app, core)
            await until_shown(pilot, app, f"{4 + later} requests wait")
        assert len(core.relieved) == 1
        serving(core, figures(30, minutes_ago=-3, **{**FULL, "slot_usage": 0.5, "kv_usage": 0.97}), tmp_path)
        await look(pilot, app, core)
        await until_shown(pilot, app, "LIMITED by KV cache")
        await until_shown(pilot, app, "no single flag would help on these GPUs")
        assert [bound for _, bound in core.relieved] == [Bound.SLOTS, Bound.KV]


async def test_adjusting_offers_what_would_help(tmp_path: Path) -> None:
    core = core_of(figures(30, **FULL), tmp_path)
    async with running(core) as (app, pilot):
        await _until_offered(pilot, app)
        assert "R takes it to the flags" in screen_text(app)
        await pilot.press("R")
        await until(pilot, lambda: isinstance(app.screen, AdjustScreen), "the flag editor")
        assert isinstance(app.screen, AdjustScreen)
        assert [dict(offer.set) for offer in app.screen._offers] == [{"mamba-ssm-dtype": "bfloat16"}]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({**FULL, "queued": 0}, "NOT LIMITED  no request waits; 8 run"),
        ({"running": 5, "queued": 5}, "CAN'T TELL  5 requests wait, and neither a pool"),
        ({}, "CAN'T TELL  too few figures yet"),
    ],
)
async def test_without_a_limit_nothing_is_worked_out(tmp_path: Path, fields: dict[str, Any], words: str) -> None:
    core = core_of(figures(30, source=Source.LOG, **fields), tmp_path)
    async with running(core) as (app, pilot):
        await pilot.press("6")
        await until_shown(pilot, app, words)
        assert ("launched with --enable-metrics it tells more" in screen_text(app)) == words.startswith("CAN'T")
        assert "Live ▸ qwen36-mtp ── told by its log" in screen_text(app)
    assert not core.relieved


async def test_who_cannot_plan_says_why(tmp_path: Path) -> None:
    core = core_of(figures(30, **FULL), tmp_path)
    core.reliefs[Bound.SLOTS] = SgltuiError("Qwen/Qwen3.6-27B can't be found", "download it")
    async with running(core) as (app, pilot):
        await pilot.press("6")
        await until_shown(pilot, app, "Qwen/Qwen3.6-27B can't be found; download it")
        assert "LIMITED by state slots" in screen_text(app)


async def test_servers_that_tell_nothing_say_why(tmp_path: Path) -> None:
    core = FakeCore(story(tmp_path))
    async with running(core) as (app, pilot):
        await pilot.press("6")
        await until_shown(
            pilot, app, "It is loading: what it does, and what limits it, is told as soon as it is ready."
        )
        await pilot.press("2", "j", "6")
        await until_shown(pilot, app, "asking it what it does…")
        await pilot.press("2", "j", "6")
        await until_shown(pilot, app, "It has failed: only a server that runs tells what it does.")
        assert isinstance(core.now, Snapshot)
        far = replace(core.now.instances[0], local=False, host="gpu-box-9")
        core.now = replace(core.now, instances=(far,))
        await look(pilot, app, core)
        await pilot.press("6")
        await until_shown(pilot, app, "It was launched on gpu-box-9: sgltui tells there what it does.")


async def test_the_panel_stays_from_one_ready_server_to_the_next(tmp_path: Path) -> None:
    core = core_of(figures(30, **FULL), tmp_path)
    assert isinstance(core.now, Snapshot)
    [first] = core.now.instances
    core.histories["other"] = core.histories["qwen36-mtp"]
    core.now = replace(core.now, instances=(first, replace(first, name="other", launch="20261129T171001Z-0001")))
    async with running(core) as (app, pilot):
        await _until_offered(pilot, app)
        await pilot.press("2", "j")
        await until_shown(pilot, app, "Live ▸ other")
        await pilot.press("4", "2", "k")
        await until_shown(pilot, app, "Budget ▸ qwen36-mtp")


async def test_ascii_curves(tmp_path: Path) -> None:
    core = core_of(figures(30, **FULL), tmp_path)
    async with running(core, ascii_only=True, size=NARROW) as (app, pilot):
        await _until_offered(pilot, app)
        assert screen_text(app).isascii()
        assert re.search(r"slots +\.+@@ +100%", screen_text(app))


async def test_only_the_figures_that_changed_are_painted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    core = core_of(figures(30, **FULL), tmp_path)
    async with running(core) as (app, pilot):
        await _until_offered(pilot, app)
        panel = app.screen.query_one(LivePanel)
        painted: list[Region] = []
        refresh = Widget.refresh

        def recording(widget: Widget, *regions: Region, **how: bool) -> Widget:
            if panel in widget.ancestors:
                painted.extend(regions or (widget.size.region,))
            return refresh(widget, *regions, **how)

        monkeypatch.setattr(Widget, "refresh", recording)
        last = core.histories["qwen36-mtp"][-1]
        serving(core, [*core.histories["qwen36-mtp"], replace(last, at=last.at + timedelta(seconds=20))], tmp_path)
        await look(pilot, app, core)
        await until(pilot, lambda: app.advice is not None and len(app.advice.history) == 31, "the newest answer")
        assert painted == []
        later = replace(last, at=last.at + timedelta(seconds=22), running=7)
        serving(core, [*core.histories["qwen36-mtp"], later], tmp_path)
        await look(pilot, app, core)
        await until(pilot, lambda: app.advice is not None and len(app.advice.history) == 32, "the newest answer")
        assert {(region.width, region.height) for region in painted} == {(1, 1)}
