"""Stopping and killing: they ask, say no by default, show at once, and tell how it ended."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace
from textual.message import Message

from tests.support.fake_core import FakeCore, instance, story
from tests.support.screen import NARROW, look, running, screen_lines, screen_text, until, until_shown
from tui.app.core import StopOutcome
from tui.app.messages import StopAsked
from tui.app.screens.confirm import ConfirmScreen
from tui.app.screens.dashboard import Dashboard
from tui.cli.context import Context
from tui.cli.core import LocalCore
from tui.errors import RefusedError
from tui.gpu.open import open_reader
from tui.keeper.states import State
from tui.observe import Snapshot
from tui.paths import Places
from tui.settings import Settings
from tui.simulator.machine import create_machine
from tui.units import GIB


async def test_stop_asks_and_names_what_is_at_stake(tmp_path: Path) -> None:
    seen: list[Message] = []
    core = FakeCore(story(tmp_path))
    core.grace_s = 7.5
    async with running(core, size=NARROW, hook=seen.append) as (app, pilot):
        await pilot.press("down", "x")
        await until_shown(pilot, app, "Stop qwen36-mtp?")
        assert "Running requests get 7.5 s to finish" in screen_text(app)
        assert "pid 4211 on GPU 0 holds 71.8 GiB, up 2 h." in screen_text(app)
        asked = [message for message in seen if isinstance(message, StopAsked)]
        assert {(message.instance.name, message.kill) for message in asked} == {("qwen36-mtp", False)}


def test_the_real_core_tells_the_grace_that_is_set(tmp_path: Path) -> None:
    places = Places(create_machine(tmp_path).directory / "state", tmp_path / "config", tmp_path)
    core = LocalCore(Context(places, Settings(grace_s=7.5), open_reader(places)))
    assert core.grace_s == 7.5
    core.close()


@pytest.mark.parametrize("answer", ["enter", "n", "escape", "q"])
async def test_no_is_the_default(tmp_path: Path, answer: str) -> None:
    core = FakeCore(story(tmp_path))
    async with running(core) as (app, pilot):
        await pilot.press("down", "f9")
        await until_shown(pilot, app, "Stop qwen36-mtp?")
        await pilot.press(answer)
        await until(pilot, lambda: isinstance(app.screen, Dashboard), "the dashboard")
        assert app.is_running
    assert not core.stops


@pytest.mark.parametrize("answer", [["y"], ["tab", "enter"], ["right", "enter"]])
async def test_yes_stops_once_and_shows_it_at_once(tmp_path: Path, answer: list[str]) -> None:
    core = FakeCore(story(tmp_path))
    core.gate.clear()
    async with running(core) as (app, pilot):
        await pilot.press("down", "x", "x")
        await until_shown(pilot, app, "Stop qwen36-mtp?")
        await pilot.press(*answer)
        await until_shown(pilot, app, "◑ stopping")
        assert "stopping qwen36-mtp" in screen_text(app)
        await pilot.press("x")
        await until_shown(pilot, app, "qwen36-mtp is already stopping; X kills it")
        core.gate.set()
        await until_shown(pilot, app, "✓ qwen36-mtp stopped after 6 s; 71.8 GiB came back")
        assert "◑ stopping" not in screen_text(app)
    assert core.stops == [("qwen36-mtp", False)]


async def test_kill_asks_twice_and_may_overtake_a_stop(tmp_path: Path) -> None:
    core = FakeCore(story(tmp_path))
    core.gate.clear()
    async with running(core) as (app, pilot):
        await pilot.press("down", "x")
        await until_shown(pilot, app, "Stop qwen36-mtp?")
        await pilot.press("y")
        await until_shown(pilot, app, "◑ stopping")
        await pilot.press("X")
        await until_shown(pilot, app, "Kill qwen36-mtp?")
        await pilot.press("y")
        await until_shown(pilot, app, "Really kill qwen36-mtp?")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, Dashboard), "the dashboard")
        assert core.stops == [("qwen36-mtp", False)]
        await pilot.press("X")
        await until_shown(pilot, app, "Kill qwen36-mtp?")
        await pilot.press("y")
        await until_shown(pilot, app, "Really kill qwen36-mtp?")
        await pilot.press("y")
        await until(pilot, lambda: len(core.stops) == 2, "the kill")
        core.gate.set()
        await until_shown(pilot, app, "after 6 s")
    assert core.stops == [("qwen36-mtp", False), ("qwen36-mtp", True)]


async def test_what_survived_is_told(tmp_path: Path) -> None:
    core = FakeCore(story(tmp_path))
    core.outcome = StopOutcome("qwen36-mtp", (77, 78), False, 72 * GIB, 3 * GIB, 61.0)
    async with running(core) as (app, pilot):
        await pilot.press("down", "x")
        await until_shown(pilot, app, "Stop qwen36-mtp?")
        await pilot.press("y")
        words = "✗ qwen36-mtp not stopped, pid 77, pid 78 still there after 1 min; 3.0 GiB did NOT come back;"
        await until(pilot, lambda: words in " ".join(screen_text(app).split()), words)


async def test_a_refused_stop_says_what_and_hint(tmp_path: Path) -> None:
    core = FakeCore(story(tmp_path))
    core.refusal = RefusedError("qwen36-mtp belongs to [/bob]", "ask bob")
    async with running(core) as (app, pilot):
        await pilot.press("down", "x")
        await until_shown(pilot, app, "Stop qwen36-mtp?")
        await pilot.press("y")
        await until_shown(pilot, app, "✗ qwen36-mtp belongs to [/bob]; ask bob")
        assert "● ready" in screen_text(app)


async def test_what_cannot_be_stopped_says_why(tmp_path: Path) -> None:
    far = instance("far", State.READY, local=False, host="gpu-box-9")
    core = FakeCore(replace(story(tmp_path), instances=(far, *story(tmp_path).instances[2:])))
    async with running(core) as (app, pilot):
        await pilot.press("x")
        await until_shown(pilot, app, "far runs on gpu-box-9; end it there")
        await pilot.press("down", "X")
        await until_shown(pilot, app, "qwen36-512 has ended already")
        assert isinstance(app.screen, Dashboard)


async def test_a_server_that_was_launched_anew_while_the_question_stood_is_left_alone(tmp_path: Path) -> None:
    core = FakeCore(story(tmp_path))
    async with running(core) as (app, pilot):
        await pilot.press("down", "x")
        await until_shown(pilot, app, "Stop qwen36-mtp?")
        assert isinstance(core.now, Snapshot)
        first, *others = core.now.instances
        core.now = replace(core.now, instances=(replace(first, launch="20261130T000000Z-0001"), *others))
        await look(pilot, app, core)
        await pilot.press("y")
        await until_shown(pilot, app, "qwen36-mtp was launched anew meanwhile: nothing was done to it")
    assert not core.stops


async def test_leaving_during_a_stop_asks_and_does_not_wait_for_it(tmp_path: Path) -> None:
    core = FakeCore(story(tmp_path))
    core.gate.clear()
    async with running(core) as (app, pilot):
        await pilot.press("down", "x")
        await until_shown(pilot, app, "Stop qwen36-mtp?")
        await pilot.press("y")
        await until_shown(pilot, app, "stopping qwen36-mtp")
        await pilot.press("q")
        await until_shown(pilot, app, "Leave now?")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, Dashboard), "the dashboard")
        await pilot.press("f10")
        await until(pilot, lambda: isinstance(app.screen, ConfirmScreen), "the question")
        await pilot.press("y")
        await until(pilot, lambda: not app.is_running, "the end")
    assert not core.gate.is_set()  # the stop still waits, the app doesn't
    core.gate.set()


async def test_the_footer_dims_what_cannot_be_done(tmp_path: Path) -> None:
    core = FakeCore(replace(story(tmp_path), instances=story(tmp_path).instances[2:]))
    async with running(core) as (app, pilot):
        await until_shown(pilot, app, "x stop")
        last = app.screen._compositor.render_strips()[len(screen_lines(app)) - 1]
        styles = {segment.text.strip(): segment.style for segment in last if segment.text.strip()}
        assert styles["stop"] is not None
        assert styles["launch"] is not None
        assert styles["stop"].color != styles["launch"].color
