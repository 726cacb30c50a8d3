"""Launching from a preset: what is proposed, what is asked of the core, and what a refusal looks like."""

from __future__ import annotations

import re
from pathlib import Path

from msgspec.structs import replace
from textual.message import Message
from textual.widgets import Input

from tests.support.fake_core import FakeCore, gpu, instance, preset, story, uuid
from tests.support.screen import NARROW, running, screen_text, until, until_shown
from tui.app.core import LaunchRequest
from tui.app.messages import LaunchAsked
from tui.app.proposals import Proposal, propose
from tui.app.screens.dashboard import Dashboard
from tui.app.screens.launch import LaunchScreen
from tui.app.widgets.instance_table import InstanceTable
from tui.diagnosis.progress import Progress, Stage
from tui.errors import RefusedError
from tui.gpu import GpuReading
from tui.keeper.states import State
from tui.observe import Snapshot
from tui.presets import LaunchDefaults, PresetProblem, Reference

IDLE = Snapshot(GpuReading((gpu(0), gpu(1)), driver="580.159"), ())


def starting(request: LaunchRequest, state: State = State.LOADING) -> Snapshot:
    """The machine after that launch."""
    progress = Progress(Stage.WEIGHT_LOAD, 3, 15) if state is State.LOADING else None
    return replace(IDLE, instances=(instance(request.name or request.preset, state, progress=progress),))


async def test_from_preset_to_loading_to_ready() -> None:
    seen: list[Message] = []
    core = FakeCore(IDLE, [preset(), preset("llama8b")])

    def show_it(request: LaunchRequest) -> None:
        core.now = starting(request)

    core.on_launch = show_it
    async with running(core, hook=seen.append) as (app, pilot):
        await pilot.press("a")
        await until_shown(pilot, app, "Launch a server")
        assert any(isinstance(message, LaunchAsked) for message in seen)
        text = screen_text(app)
        assert re.search(r"▸ qwen36-mtp +verified +27B hybrid with MTP", text)
        assert re.search(r"flags +--mem-fraction-static 0.8 --max-running-requests 8 --trust-remote-code", text)
        assert re.search(r"note +173k tokens, 8 requests", text)
        await pilot.press("down")
        await until_shown(pilot, app, "▸ llama8b")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.focused, Input), "the form")
        await pilot.press(*"2", "tab", "tab", *"0,1", "enter")
        await until_shown(pilot, app, "loading 3/15")
        assert core.launches == [LaunchRequest("llama8b", "2", "0,1", 30000)]
        assert app.screen.query_one(InstanceTable).selected == "2"
        await until_shown(pilot, app, "✓ launched 2/20261129T200000Z-0001")
        core.now = starting(core.launches[0], State.READY)
        app._sampler.look_now()
        await until_shown(pilot, app, "● ready")


async def test_pressing_twice_asks_once_and_launches_once() -> None:
    core = FakeCore(IDLE, [preset()])
    core.gate.clear()
    async with running(core) as (app, pilot):
        await pilot.press("a", "a")
        await until_shown(pilot, app, "Launch a server")
        assert len(app.screen_stack) == 2
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.focused, Input), "the form")
        await pilot.press("enter", "enter", "enter")
        await until_shown(pilot, app, "launching qwen36-mtp")
        # Asked again while the first one is under way, the same name isn't launched a second time.
        await pilot.press("escape", "a")
        await until(pilot, lambda: isinstance(app.screen, LaunchScreen), "the form again")
        await pilot.press("enter", "enter")
        await until_shown(pilot, app, "qwen36-mtp is being launched already")
        core.gate.set()
        await until_shown(pilot, app, "✓ launched")
    assert len(core.launches) == 1


async def test_a_refusal_comes_back_in_the_form_with_what_was_typed() -> None:
    core = FakeCore(IDLE, [preset()])
    core.refusal = RefusedError("port 30000 is taken by [/python3] (pid 4242)", "choose another port, or stop it")
    async with running(core, size=NARROW) as (app, pilot):
        await pilot.press("a")
        await until_shown(pilot, app, "Launch a server")
        await pilot.press("enter")
        await pilot.press(*"mine", "enter")
        await until_shown(pilot, app, "✗ port 30000 is taken by [/python3] (pid 4242)")
        assert "choose another port, or stop it" in screen_text(app)
        assert app.screen.query_one("#field-name", Input).value == "mine"
        assert app.focused is app.screen.query_one("#field-port")
        core.refusal = None
        await pilot.press(*"30007", "enter")
        await until_shown(pilot, app, "✓ launched mine/")
    assert [(one.name, one.port) for one in core.launches] == [("mine", 30000), ("mine", 30007)]


async def test_the_refusal_stays_when_the_form_is_left() -> None:
    core = FakeCore(IDLE, [preset()])
    core.refusal = RefusedError("GPU 0 has 3 GiB free", "stop what holds it")
    async with running(core) as (app, pilot):
        await pilot.press("a")
        await until_shown(pilot, app, "Launch a server")
        await pilot.press("enter", "enter")
        await until(pilot, lambda: core.launches and isinstance(app.screen, LaunchScreen), "the form again")
        await pilot.press("escape")
        await until_shown(pilot, app, "✗ GPU 0 has 3 GiB free; stop what holds it")
        await pilot.press("escape")
        await until(pilot, lambda: "GPU 0 has 3 GiB" not in screen_text(app), "Esc takes it away")
    assert len(core.launches) == 1


async def test_a_surprise_is_told_too() -> None:
    core = FakeCore(IDLE, [preset()])
    core.refusal = KeyError("[/bug]")
    async with running(core) as (app, pilot):
        await pilot.press("a")
        await until_shown(pilot, app, "Launch a server")
        await pilot.press("enter", "enter")
        await until_shown(pilot, app, "✗ KeyError: '[/bug]'; this is a bug in sgltui")
        assert isinstance(app.screen, Dashboard)


async def test_leaving_the_form_launches_nothing() -> None:
    core = FakeCore(IDLE, [preset()])
    async with running(core) as (app, pilot):
        await pilot.press("a")
        await until_shown(pilot, app, "Launch a server")
        await pilot.press("enter", "escape")
        await until(pilot, lambda: isinstance(app.screen, Dashboard), "the dashboard")
    assert not core.launches


async def test_no_presets_and_broken_ones() -> None:
    broken = PresetProblem(Path("/presets/big[b].toml"), "line 3: unknown key `modle`")
    async with running(FakeCore(IDLE, [], [broken]), size=NARROW) as (app, pilot):
        await pilot.press("a")
        await until_shown(pilot, app, "No presets yet.")
        assert "✗ big[b].toml line 3: unknown key `modle`" in screen_text(app)
        await pilot.press("j", "enter", "escape")
        await until(pilot, lambda: isinstance(app.screen, Dashboard), "the dashboard")


async def test_presets_from_outside_are_text_and_secrets_stay_hidden() -> None:
    evil = preset(
        "a.b",
        description="[bold]\x1b[31m漢字",
        model="[/x]",
        flags={"api-key": Reference("env", "KEY"), "lora-paths": ["[a]", 2], "x": "[/]"},
        evidence=None,
    )
    async with running(FakeCore(IDLE, [evil]), size=NARROW) as (app, pilot):
        await pilot.press("a")
        await until_shown(pilot, app, r"[bold]\x1b[31m漢字")
        assert "--api-key (env KEY) --lora-paths [a] 2 --x [/]" in screen_text(app)
        assert "untested" in screen_text(app)


def test_the_form_proposes_what_is_free(tmp_path: Path) -> None:
    running_now = story(tmp_path).instances
    assert propose(preset(), running_now) == Proposal("qwen36-mtp-2", "30002", "0")
    assert propose(preset("qwen36-512"), running_now) == Proposal("qwen36-512", "30002", "0")
    wish = preset("p", launch=LaunchDefaults(name="llama8b", gpus=(1, uuid(0))))
    assert propose(wish, running_now) == Proposal("llama8b-2", "", f"1,{uuid(0)}")
    assert propose(preset(), ()) == Proposal("qwen36-mtp", "30000", "0")
