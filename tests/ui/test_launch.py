"""Launching from a preset: what is proposed, what is asked of the core, and what a refusal looks like."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from msgspec.structs import replace
from textual.events import Key
from textual.widgets import Input

from tests.support.fake_core import FakeCore, gpu, instance, preset, story, uuid
from tests.support.screen import NARROW, running, screen_text, until, until_shown
from tui.app.app import SgltuiApp
from tui.app.core import LaunchRequest
from tui.app.glyphs import UNICODE
from tui.app.preset_words import problems_content
from tui.app.proposals import FieldError, Fields, propose, read_request
from tui.app.screens.dashboard import Dashboard
from tui.app.screens.launch import LaunchScreen
from tui.app.widgets.budget_panel import BudgetPanel
from tui.app.widgets.instance_table import InstanceTable
from tui.app.widgets.scroll_box import ScrollBox
from tui.diagnosis.progress import Progress, Stage
from tui.errors import RefusedError
from tui.gpu import GpuReading
from tui.keeper.states import State
from tui.observe import Snapshot
from tui.paths import Places
from tui.presets import Evidence, LaunchDefaults, PresetProblem, Reference, load_presets
from tui.presets.proof import Standing

IDLE = Snapshot(GpuReading((gpu(0), gpu(1)), driver="580.159"), ())


def starting(request: LaunchRequest, state: State = State.LOADING) -> Snapshot:
    """The machine after that launch."""
    progress = Progress(Stage.WEIGHT_LOAD, 3, 15) if state is State.LOADING else None
    return replace(IDLE, instances=(instance(request.name or request.preset, state, progress=progress),))


async def test_from_preset_to_loading_to_ready() -> None:
    core = FakeCore(IDLE, [preset(), preset("llama8b")])

    def show_it(request: LaunchRequest) -> None:
        core.now = starting(request)

    core.on_launch = show_it
    async with running(core) as (app, pilot):
        await pilot.press("a")
        await until_shown(pilot, app, "Launch a server")
        text = screen_text(app)
        assert re.search(r"▸ qwen36-mtp +\? claimed +27B hybrid with MTP", text)
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


async def test_moving_keys_are_the_list_s_where_the_form_is_higher_than_the_screen() -> None:
    names = [f"preset-{number:02}" for number in range(12)]
    core = FakeCore(IDLE, [preset(name) for name in names])
    async with running(core, size=NARROW) as (app, pilot):
        await pilot.press("a")
        await until_shown(pilot, app, "▸ preset-00")
        assert app.screen.query_one(ScrollBox).max_scroll_y > 0
        for key, name in (("down", "01"), ("end", "11"), ("up", "10"), ("home", "00")):
            await pilot.press(key)
            await until_shown(pilot, app, f"▸ preset-{name}")


@pytest.mark.parametrize("size", [(80, 24), (120, 34), (160, 48)])
async def test_a_long_list_takes_no_room_that_it_does_not_fill(size: tuple[int, int]) -> None:
    core = FakeCore(IDLE, [preset(f"preset-{number:02}") for number in range(13)])
    async with running(core, size=size) as (app, pilot):
        await pilot.press("a")
        await until_shown(pilot, app, "▸ preset-00")
        budget = app.screen.query_one(BudgetPanel)
        await until(pilot, lambda: budget.region.height > 0, "the budget's place")
        last = app.screen.query_one("#field-gpus")
        assert budget.region.y - last.region.bottom == 1


async def type_ahead(app: SgltuiApp, *keys: str) -> None:
    """Keys that all arrive before the first of them is handled."""
    for key in keys:
        app.post_message(Key(key, key if len(key) == 1 else None))


async def test_keys_typed_ahead_are_for_the_dialogue() -> None:
    core = FakeCore(replace(IDLE, instances=(instance("a", State.READY), instance("b", State.READY))), [])
    core._presets = tuple(preset(name) for name in ("one", "two", "three"))
    core.presets_gate.clear()
    async with running(core) as (app, pilot):
        await until_shown(pilot, app, "● ready")
        table = app.screen.query_one(InstanceTable)
        selected = table.selected
        await type_ahead(app, "a", "down", "j", "enter", "m", "y", "tab")
        await until_shown(pilot, app, "reading presets…")
        await type_ahead(app, "3", "1", "tab", "1", "enter")
        await pilot.pause()
        assert table.selected == selected
        assert not core.launches
        core.presets_gate.set()
        await until(pilot, lambda: core.launches, "the launch")
        assert core.launches == [LaunchRequest("three", "my", "1", 31)]
        await until_shown(pilot, app, "✓ launched my/")
        assert isinstance(app.screen, Dashboard)


async def test_reading_presets_can_be_left() -> None:
    core = FakeCore(IDLE, [preset()])
    core.presets_gate.clear()
    async with running(core) as (app, pilot):
        await pilot.press("a")
        await until_shown(pilot, app, "reading presets…")
        await pilot.press("enter", "escape")
        await until(pilot, lambda: isinstance(app.screen, Dashboard), "the dashboard")
        core.presets_gate.set()
        await pilot.pause()
        assert isinstance(app.screen, Dashboard)
        await pilot.press("a")
        await until_shown(pilot, app, "▸ qwen36-mtp")
    assert not core.launches


@pytest.mark.parametrize(
    ("field", "typed", "words"),
    [
        ("port", "0", "✗ '0' isn't a port\n  give a number from 1 to 65535"),
        ("port", "65536", "✗ '65536' isn't a port\n  give a number from 1 to 65535"),
        ("gpus", "0;1", "✗ '0;1' names no GPU\n  give indices or uuids as `sgltui gpus` lists them, like 0,1"),
        ("name", "my server", "✗ 'my server' can't be a server's name\n  use up to 64 letters, digits, dots, dashes"),
    ],
)
async def test_what_cannot_be_meant_is_refused_in_its_place(field: str, typed: str, words: str) -> None:
    core = FakeCore(IDLE, [preset()])
    async with running(core, size=NARROW) as (app, pilot):
        await pilot.press("a")
        await until_shown(pilot, app, "▸ qwen36-mtp")
        await pilot.press("enter")
        box = app.screen.query_one(f"#field-{field}", Input)
        box.value = typed
        await pilot.press("enter")
        for line in words.split("\n"):
            await until_shown(pilot, app, line)
        assert app.focused is box
        assert box.value == typed
        assert not core.launches
        box.value = {"port": "65535", "gpus": "0,1", "name": "my.server"}[field]
        await pilot.press("enter")
        await until_shown(pilot, app, "✓ launched")
    assert len(core.launches) == 1


def test_fields_are_read_as_they_are_meant() -> None:
    assert read_request(preset(), Fields("", "", "")) == LaunchRequest("qwen36-mtp")
    asked = read_request(preset(), Fields(" a ", " 1 ", f" 0,{uuid(1)} "))
    assert asked == LaunchRequest("qwen36-mtp", "a", f"0,{uuid(1)}", 1)
    for fields in (Fields("", "²", ""), Fields("", "-1", ""), Fields("-a", "", ""), Fields("", "", ",")):
        with pytest.raises(FieldError):
            read_request(preset(), fields)


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
        await until_shown(pilot, app, "… launching qwen36-mtp")
        assert isinstance(app.screen, LaunchScreen)
        assert "being launched already" not in screen_text(app)  # the later Enters asked for nothing
        # Asked again while the first one is under way, the same name isn't launched a second time.
        await pilot.press("escape", "a")
        await until(pilot, lambda: isinstance(app.screen, LaunchScreen), "the form again")
        await pilot.press("enter", "enter")
        await until_shown(pilot, app, "qwen36-mtp is being launched already")
        core.gate.set()
        await until_shown(pilot, app, "✓ launched")
    assert len(core.launches) == 1


async def test_a_refusal_stands_in_the_form_with_what_was_typed() -> None:
    core = FakeCore(IDLE, [preset()])
    core.refusal = RefusedError("port 30000 is taken by [/python3] (pid 4242)", "choose another port, or stop it")
    async with running(core, size=NARROW) as (app, pilot):
        await pilot.press("a")
        await until_shown(pilot, app, "Launch a server")
        await pilot.press("enter")
        form = app.screen
        await pilot.press(*"mine", "enter")
        await until_shown(pilot, app, "✗ port 30000 is taken by [/python3] (pid 4242)")
        assert app.screen is form
        assert "choose another port, or stop it" in screen_text(app)
        assert app.screen.query_one("#field-name", Input).value == "mine"
        core.refusal = None
        await pilot.press("tab", *"30007", "enter")
        await until_shown(pilot, app, "✓ launched mine/")
        assert isinstance(app.screen, Dashboard)
        assert "30000 is taken" not in screen_text(app)
    assert [(one.name, one.port) for one in core.launches] == [("mine", 30000), ("mine", 30007)]


async def test_a_new_attempt_takes_the_last_refusal_away() -> None:
    core = FakeCore(IDLE, [preset()])
    core.refusal = RefusedError("GPU 0 has 3 GiB free", "stop what holds it")
    async with running(core) as (app, pilot):
        await pilot.press("a")
        await until_shown(pilot, app, "▸ qwen36-mtp")
        await pilot.press("enter", *"one", "enter")
        await until(pilot, lambda: [notice.text for notice in app.notices] == ["GPU 0 has 3 GiB free"], "the refusal")
        core.refusal = None
        core.gate.clear()
        await pilot.press(*"2", "enter")
        await until(pilot, lambda: [notice.text for notice in app.notices] == ["launching one2"], "the next attempt")
        core.gate.set()
        await until_shown(pilot, app, "✓ launched one2/")


async def test_a_form_that_was_left_is_not_missed() -> None:
    core = FakeCore(IDLE, [preset()])
    core.gate.clear()
    async with running(core) as (app, pilot):
        for refusal, words in ((RefusedError("no room"), "✗ no room"), (None, "✓ launched qwen36-mtp/")):
            core.refusal = refusal
            await pilot.press("a")
            await until_shown(pilot, app, "▸ qwen36-mtp")
            await pilot.press("enter", "enter")
            await until_shown(pilot, app, "… launching qwen36-mtp")
            await pilot.press("escape")
            core.gate.set()
            await until_shown(pilot, app, words)
            assert isinstance(app.screen, Dashboard)
            core.gate.clear()


async def test_a_form_under_something_else_is_gone_after_it() -> None:
    core = FakeCore(IDLE, [preset()])
    core.gate.clear()
    async with running(core) as (app, pilot):
        await pilot.press("a")
        await until_shown(pilot, app, "▸ qwen36-mtp")
        await pilot.press("enter", "enter")
        await until_shown(pilot, app, "… launching qwen36-mtp")
        await pilot.press("ctrl+p")
        await until(pilot, lambda: not isinstance(app.screen, LaunchScreen), "the palette")
        core.gate.set()
        await until(pilot, lambda: any("launched" in notice.text for notice in app.notices), "the launch")
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, Dashboard), "the dashboard")


async def test_the_refusal_stays_when_the_form_is_left() -> None:
    core = FakeCore(IDLE, [preset()])
    core.refusal = RefusedError("GPU 0 has 3 GiB free", "stop what holds it")
    async with running(core) as (app, pilot):
        await pilot.press("a")
        await until_shown(pilot, app, "Launch a server")
        await pilot.press("enter", "enter")
        await until_shown(pilot, app, "✗ GPU 0 has 3 GiB free")
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
        await until_shown(pilot, app, "✗ KeyError: '[/bug]'")
        core.refusal = None
        await pilot.press("enter")  # the form is of use again
        await until_shown(pilot, app, "✓ launched")
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
        assert "✗ big[b].toml: line 3: unknown key `modle`" in screen_text(app)
        await pilot.press("j", "enter", "escape")
        await until(pilot, lambda: isinstance(app.screen, Dashboard), "the dashboard")


def test_a_broken_preset_is_named_once(tmp_path: Path) -> None:
    path = tmp_path / "badval.toml"
    path.write_text('model = "Qwen/Qwen3-8B"\n\n[launch]\nport = "eighty"\n')
    problems = load_presets(Places(tmp_path, tmp_path, project_presets=tmp_path)).problems
    assert [problem.path for problem in problems] == [path]
    assert str(path) in problems[0].message
    text = problems_content(problems, UNICODE).plain
    assert text.startswith("✗ badval.toml:4: ")
    assert str(tmp_path) not in text
    missing = PresetProblem(tmp_path / "no", f"no such folder: {tmp_path}/no")
    assert problems_content([missing], UNICODE).plain == f"✗ no such folder: {tmp_path}/no"


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
    assert propose(preset(), running_now) == Fields("qwen36-mtp-2", "30002", "0")
    assert propose(preset("qwen36-512"), running_now) == Fields("qwen36-512", "30002", "0")
    wish = preset("p", launch=LaunchDefaults(name="llama8b", gpus=(1, uuid(0))))
    assert propose(wish, running_now) == Fields("llama8b-2", "", f"1,{uuid(0)}")
    assert propose(preset(), ()) == Fields("qwen36-mtp", "30000", "0")


async def test_presets_that_are_edited_while_the_form_is_open_are_listed_and_nothing_typed_is_lost() -> None:
    core = FakeCore(IDLE, [preset(), preset("llama8b")])
    async with running(core) as (app, pilot):
        await pilot.press("a")
        await until_shown(pilot, app, "Launch a server")
        await pilot.press("down", "enter")
        await until(pilot, lambda: isinstance(app.focused, Input), "the form")
        await pilot.press(*"two")
        core.change_presets(preset("another"), preset("llama8b", description="edited"))
        await until_shown(pilot, app, "▸ llama8b")
        await until_shown(pilot, app, "edited")
        assert "another" in screen_text(app)
        await pilot.press("enter")
        await until(pilot, lambda: bool(core.launches), "a launch")
        assert core.launches[0].preset == "llama8b"
        assert core.launches[0].name == "two"


async def test_how_far_a_preset_is_proven_is_told_by_sign_and_word() -> None:
    proof = Evidence(status="verified", gpu="H100", gpus=1, sglang="0.5.11", digest="d" * 16)
    presets = [preset(name, evidence=proof) for name in ("aa", "bb", "cc")]
    core = FakeCore(IDLE, [*presets, preset("dd", evidence=Evidence(status="computed", note="planned for 0.5.23"))])
    core.judged = {
        "aa": (Standing.PROVEN_HERE, "it ran on H100 with SGLang 0.5.11"),
        "bb": (Standing.PROVEN_ELSEWHERE, "it ran on H100 with SGLang 0.5.11; here is SGLang 0.5.23"),
    }
    async with running(core, size=NARROW) as (app, pilot):
        await pilot.press("a")
        await until_shown(pilot, app, "✓ proven here")
        text = screen_text(app)
        assert re.search(r"bb +o proven elsewhere", text)
        assert re.search(r"cc +! changed since", text)  # its digest is of another file
        assert re.search(r"dd +· computed", text)
        assert re.search(r"note +it ran on H100 with SGLang 0.5.11", text)
