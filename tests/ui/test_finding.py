"""What is the matter with the selected server: seen first where it failed, one key away, and never in the way."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from msgspec import structs
from msgspec.structs import replace
from textual.pilot import Pilot

from tests.support.budgets import FITS
from tests.support.explanations import ATTEMPTS, ROOT_TEXT, STORY_LOG, attempt, explained
from tests.support.fake_core import FakeCore, instance, story
from tests.support.logs import FIXTURES
from tests.support.screen import NARROW, STORY, WIDE, look, running, screen_lines, screen_text, until, until_shown
from tui.app import findings
from tui.app.app import SgltuiApp
from tui.app.screens.dashboard import Dashboard
from tui.app.widgets.log_view import LogView
from tui.errors import SgltuiError
from tui.keeper.states import State
from tui.launch.explanation import Explanation, Mark, Quote
from tui.observe import Snapshot

SnapCompare = Callable[..., bool]
FAILED = "qwen36-512"
HOSTILE = "[/x] [bold]b[/] \x1b]0;pwned\x07\x9b31m 漢字"
ENDED = datetime.now(UTC) - timedelta(days=3)
RETRACTED = (
    "[2026-06-01 10:09:00] KV cache pool is full. Retract requests. #retracted_reqs: 1, #new_tokens_gained: 2048, "
    "#new_token_ratio: 0.1580 -> 0.3421\n"
)
WORDS = "state for drafts 27.5 GiB, the pools have 24.1"


def failed_core(folder: Path, found: Explanation | Exception | None = None) -> FakeCore:
    """The story's failed server alone, after 41 s, three days ago; its log is the real one."""
    log = folder / "20261129T160301Z-0003" / "server.log"
    log.parent.mkdir(parents=True)
    shutil.copy(STORY_LOG, log)
    one = replace(
        story(folder).instances[2],
        launch=log.parent.name,
        log_path=log,
        cause=WORDS,
        ended_at=ENDED,
        started_at=ENDED - timedelta(seconds=41),
    )
    core = FakeCore(replace(story(folder), instances=(one,)))
    core.budget = FITS
    core.explanations[FAILED] = found or structs.replace(explained(log), attempts=ATTEMPTS)
    core.attempts[FAILED] = ATTEMPTS
    return core


def ready_core(folder: Path) -> FakeCore:
    """A server that runs, with one warning in its log."""
    log = folder / "server.log"
    log.write_text((FIXTURES / "synthetic" / "hybrid-start.log").read_text() + RETRACTED)
    core = FakeCore(Snapshot(story(folder).gpus, (instance("ok", State.READY, log_path=log, uptime_s=60.0),)))
    core.budget = FITS
    core.explanations["ok"] = explained(log, State.READY, None)
    return core


def dashboard(app: SgltuiApp) -> Dashboard:
    """The screen behind all."""
    screen = app.screen_stack[0]
    assert isinstance(screen, Dashboard)
    return screen


def line_of(app: SgltuiApp, text: str) -> str:
    return next(line for line in screen_lines(app) if text in line)


def selected_line(app: SgltuiApp) -> str:
    view = app.screen.query_one(LogView)
    assert view.window is not None
    return "" if view.selected is None else view.window.lines.read(view.selected, 1)[0].decode()


async def test_no_way_to_a_line_that_there_is_not(tmp_path: Path) -> None:
    """Killed from outside, say: nothing in its log tells."""
    found = structs.replace(explained(STORY_LOG), attempts=ATTEMPTS, marks={})
    async with running(failed_core(tmp_path, found)) as (app, pilot):
        await until_shown(pilot, app, "FAILED in memory pool")
        await pilot.press("5")
        await until_shown(pilot, app, "c copy report   p earlier attempts")
        assert "Enter to the line   c copy report" not in screen_text(app), "dim in the footer, and not here"


@pytest.mark.parametrize("size", [(60, 16), NARROW, STORY, WIDE])
async def test_a_failed_server_shows_why_first(tmp_path: Path, size: tuple[int, int]) -> None:
    async with running(failed_core(tmp_path), size=size) as (app, pilot):
        await until_shown(pilot, app, "FAILED in memory pool")
        text = screen_text(app)
        assert f"{FAILED} · attempt 3 ·" in text or size[0] < 80
        assert "27.5 GiB" in text
        assert "4: budget" in text
        assert "FITS" not in text
        await pilot.press("5", "G")
        await until_shown(pilot, app, "Enter to the line   c copy report   p earlier attempts")
        await until_shown(pilot, app, "with speculation SGLang allows 48 requests")
        await pilot.press("k", "k", "k", "k")
        await until_shown(pilot, app, "37 │ RuntimeError: Not enough")
        await pilot.press("4")
        await until_shown(pilot, app, "5: why it failed")
        await until_shown(pilot, app, "FITS")
        assert max(len(line) for line in screen_lines(app)) <= size[0]


async def test_everything_of_it_can_be_read(tmp_path: Path) -> None:
    async with running(failed_core(tmp_path), size=WIDE) as (app, pilot):
        await until_shown(pilot, app, "FAILED in memory pool")
        text = screen_text(app)
        assert f"FAILED in memory pool  {WORDS}" in text
        own = "exit -9 (SGLang kills itself after an error; not the kernel)"
        assert f"{FAILED} · attempt 3 · failed 3 d ago after 41 s · {own} ── 4: budget" in text
        assert "1  --max-running-requests 8 " in text
        assert "Leave --mem-fraction-static as it is" in " ".join(text.split())
        assert "#1 short by 3.0 GiB · #2 mem-fraction-static 0.9, max-running-requests 512: short by 259.8 GiB" in text
        assert "(a consequence)" in line_of(app, "39 │")
        assert [change.set for change in dashboard(app).offered_changes][:1] == [{"max-running-requests": 8}]


async def test_enter_goes_to_the_line_and_e_comes_back_to_it(tmp_path: Path) -> None:
    async with running(failed_core(tmp_path), size=NARROW) as (app, pilot):
        await until_shown(pilot, app, "FAILED in memory pool")
        await pilot.press("5", "enter")
        await until(pilot, lambda: selected_line(app) == ROOT_TEXT, "the root line")
        assert isinstance(app.focused, LogView)
        assert "✗▸RuntimeError: Not enough memory." in screen_text(app)
        assert "5: finding" in line_of(app, "Log ▸")
        await pilot.press("G", "e")
        await until(pilot, lambda: selected_line(app) == ROOT_TEXT, "from its end the first e is the root")
        await pilot.press("e")
        await until(pilot, lambda: "Received sigquit" in selected_line(app), "the next is what came of it")


async def test_the_log_marks_the_root_louder_than_what_came_of_it(tmp_path: Path) -> None:
    async with running(failed_core(tmp_path)) as (app, pilot):
        await until_shown(pilot, app, "✗✗RuntimeError: Not enough memory.")
        assert "↳ " in line_of(app, "Received sigquit")
    async with running(failed_core(tmp_path / "plain"), ascii_only=True) as (app, pilot):
        await until_shown(pilot, app, "xxRuntimeError: Not enough memory.")
        assert screen_text(app).isascii()


async def test_the_report_is_copied(tmp_path: Path) -> None:
    async with running(failed_core(tmp_path)) as (app, pilot):
        await until_shown(pilot, app, "FAILED in memory pool")
        await pilot.press("5", "c")
        await until_shown(pilot, app, f"copied a report on {FAILED}")
        assert app.clipboard == f"## report of {FAILED}/20261129T160301Z-0003\n"


async def test_what_runs_shows_its_budget_and_names_its_findings(tmp_path: Path) -> None:
    core = ready_core(tmp_path)
    found = core.explanations["ok"]
    assert isinstance(found, Explanation)
    count = len(found.answer.findings)
    assert count > 0
    async with running(core) as (app, pilot):
        await until_shown(pilot, app, f"5: {count} finding")
        await until_shown(pilot, app, "FITS")
        await pilot.press("tab")
        await until_shown(pilot, app, "nothing is wrong with it, as far as its log tells")
        assert found.answer.findings[0].text[:30] in screen_text(app)
        assert dashboard(app).offered_changes == ()


async def test_tab_passes_by_a_finding_that_tells_nothing(tmp_path: Path) -> None:
    core = ready_core(tmp_path)
    del core.explanations["ok"]
    async with running(core) as (app, pilot):
        await until_shown(pilot, app, "FITS")
        await pilot.press("tab")
        assert dashboard(app)._focused_panel() == "budget"
        await pilot.press("5")
        await until_shown(pilot, app, "nothing is wrong with it")


async def test_a_server_that_fails_while_it_is_looked_at(tmp_path: Path) -> None:
    core = ready_core(tmp_path)
    async with running(core) as (app, pilot):
        await until_shown(pilot, app, "FITS")
        await pilot.press("4")
        assert isinstance(core.now, Snapshot)
        core.explanations["ok"] = explained(STORY_LOG)
        core.now = replace(core.now, instances=(replace(core.now.instances[0], state=State.FAILED, ended_at=ENDED),))
        await look(pilot, app, core)
        await until_shown(pilot, app, "FAILED in memory pool")
        assert dashboard(app)._focused_panel() == "finding"
        await pilot.press("4", "2")  # the budget was chosen, and stays
        await look(pilot, app, core)
        assert "FAILED in memory pool" not in screen_text(app)


async def test_it_is_asked_again_while_it_may_change_and_nobody_covers_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(findings, "_AGAIN_S", 0.02)
    core = ready_core(tmp_path)
    async with running(core) as (app, pilot):
        await until(pilot, lambda: len(core.explained) > 2, "asked again and again")
        await pilot.press("?")
        await pilot.pause(0.1)
        asked = len(core.explained)
        await pilot.pause(0.2)
        assert len(core.explained) == asked
        await pilot.press("escape")
        await until(pilot, lambda: len(core.explained) > asked, "asked again")
        assert app.is_running


async def test_what_has_ended_is_asked_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(findings, "_AGAIN_S", 0.02)
    core = failed_core(tmp_path)
    async with running(core) as (app, pilot):
        await until_shown(pilot, app, "FAILED in memory pool")
        await look(pilot, app, core)
        await pilot.pause(0.2)
        assert len(core.explained) == 1


async def test_a_long_log_tells_how_far_it_was_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(findings, "_READING_ON_S", 0.02)
    core = failed_core(tmp_path)
    found = core.explanations[FAILED]
    assert isinstance(found, Explanation)
    core.explanations[FAILED] = structs.replace(found, done=0.42)
    async with running(core, size=WIDE) as (app, pilot):
        await until_shown(pilot, app, "its log is being read… 42%")
        core.explanations[FAILED] = found
        await until(pilot, lambda: "being read" not in screen_text(app), "all of it is read")


async def test_trouble_with_the_log_is_said_in_its_place(tmp_path: Path) -> None:
    core = failed_core(tmp_path, SgltuiError("server.log can't be read: Permission denied", "look as its owner"))
    async with running(core) as (app, pilot):
        await until_shown(pilot, app, "server.log can't be read: Permission denied: look as its owner")
        await pilot.press("5", "enter")
        await until_shown(pilot, app, "no line of its log says what happened")


async def test_hostile_text_is_only_text(tmp_path: Path) -> None:
    found = explained(STORY_LOG)
    answer = replace(found.answer, explanation=HOSTILE, brief=HOSTILE, advice=(HOSTILE,))
    quotes = (Quote(7, 0, HOSTILE, Mark.ROOT),)
    core = failed_core(tmp_path, structs.replace(found, answer=answer, quotes=quotes, attempts=(attempt(1),)))
    async with running(core) as (app, pilot):
        await until_shown(pilot, app, "[/x] [bold]b[/] \\x1b]0;pwned\\x07\\x9b31m")
        assert "\x1b" not in screen_text(app)


async def test_the_attempts_lead_to_their_logs(tmp_path: Path) -> None:
    core = failed_core(tmp_path)
    earlier = tmp_path / ATTEMPTS[1].launch / "server.log"
    earlier.parent.mkdir()
    earlier.write_text("the second attempt\n")
    async with running(core, size=NARROW) as (app, pilot):
        await until_shown(pilot, app, "FAILED in memory pool")
        await pilot.press("5", "p")
        await until_shown(pilot, app, "Attempts at qwen36-512, newest first")
        await until_shown(pilot, app, "#1")
        text = screen_text(app)
        assert text.index("#3 ") < text.index("#2 ") < text.index("#1 ")
        assert "✗ FAILED pool" in line_of(app, "#2 ")
        assert "short by 259.8 GiB" in line_of(app, "#2 ")
        assert "changed: --mem-fraction-static 0.9, --max-running-requests 512" in text
        await pilot.press("j", "enter")
        await until_shown(pilot, app, "EARLIER LAUNCH ▸ qwen36-512/20261129T160201Z-0002")
        await until_shown(pilot, app, "the second attempt")
        assert "✗✗" not in screen_text(app)
        await pilot.press("H", "escape")
        await until(pilot, lambda: "newest first" not in screen_text(app), "back")


async def test_no_attempts_is_said(tmp_path: Path) -> None:
    core = failed_core(tmp_path)
    core.attempts.clear()
    async with running(core) as (app, pilot):
        await pilot.press("H")
        await until_shown(pilot, app, "No launch of it can be read; `sgltui doctor` says why.")


@pytest.mark.parametrize(
    ("size", "words"),
    [(WIDE, "51.36"), (NARROW, "measured, and beyond the plan")],
)
async def test_planned_stands_beside_measured(tmp_path: Path, size: tuple[int, int], words: str) -> None:
    async with running(ready_core(tmp_path), size=size) as (app, pilot):
        await until_shown(pilot, app, "FITS")
        await pilot.press("4", "G")
        await until_shown(pilot, app, words)
        await until_shown(pilot, app, "1.13 GiB went")


def test_a_failure_explained_120x34(snap_compare: SnapCompare, tmp_path: Path) -> None:
    # A red FAILED with the finding in a few words; four numbered changes, the first of them fewer requests; the
    # long explanation, which says to leave the fraction; below in the log the root line in red from edge to edge with
    # two crosses before it, and under it an arrow before what came of it.
    core = failed_core(tmp_path)

    async def shown(pilot: Pilot[None]) -> None:
        assert isinstance(pilot.app, SgltuiApp)
        await until_shown(pilot, pilot.app, "✗✗")
        await until_shown(pilot, pilot.app, "What would help")

    assert snap_compare(SgltuiApp(core, where="gpu-box-7"), terminal_size=STORY, run_before=shown)


def test_the_attempts_80x24(snap_compare: SnapCompare, tmp_path: Path) -> None:
    # A box over a dimmed dashboard: three attempts, the third on a ground, each with its number and age, a red FAILED
    # pool and by how much it was short; below each what was changed and what was found.
    core = failed_core(tmp_path)

    async def shown(pilot: Pilot[None]) -> None:
        assert isinstance(pilot.app, SgltuiApp)
        await until_shown(pilot, pilot.app, "FAILED in memory pool")
        await pilot.press("H")
        await until_shown(pilot, pilot.app, "#1 ")

    assert snap_compare(SgltuiApp(core, where="gpu-box-7"), terminal_size=NARROW, run_before=shown)
