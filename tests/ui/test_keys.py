"""What the keys of the dashboard do, and the mouse where it does the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.support.fake_core import FakeCore, instance, story
from tests.support.screen import NARROW, running, screen_lines, screen_text, until, until_shown
from tui.app.app import SgltuiApp
from tui.app.commands.dashboard import DASHBOARD
from tui.app.keys import DEFAULT_KEYS
from tui.app.notices import Kind, Notice
from tui.app.screens.dashboard import Dashboard
from tui.app.widgets.instance_table import InstanceTable
from tui.keeper.states import State


def focused(app: SgltuiApp) -> str:
    """The kind of widget that has the keys."""
    return type(app.focused).__name__


async def test_keys_move_zoom_and_go_to_panels(tmp_path: Path) -> None:
    async with running(FakeCore(story(tmp_path))) as (app, pilot):
        table = app.screen.query_one(InstanceTable)
        await pilot.press("G")
        assert table.selected == "qwen36-512"
        await pilot.press("k")
        assert table.selected == "qwen36-mtp"
        await pilot.press("g")
        assert table.selected == "llama8b"
        await pilot.press("j", "l")
        assert focused(app) == "LogView"
        assert "Servers" not in screen_text(app)
        assert "Log ▸ qwen36-mtp" in screen_text(app)
        await pilot.press("escape")
        assert focused(app) == "InstanceTable"
        assert "Servers" in screen_text(app)
        await pilot.press("1", "z")
        assert "GPUs" in screen_text(app)
        assert "Log ▸" not in screen_text(app)
        await pilot.press("2")
        assert "qwen36-512" in screen_text(app)
        await pilot.press("z", "enter")
        assert focused(app) == "LogView"
        await pilot.press("enter", "tab")
        assert focused(app) == "BudgetPanel"
        await pilot.press("tab")
        assert focused(app) == "LogView"


async def test_keys_typed_ahead_are_meant_for_the_panel_that_was_gone_to(tmp_path: Path) -> None:
    async with running(FakeCore(story(tmp_path))) as (app, pilot):
        await until_shown(pilot, app, "● ready")
        for key in ("3", "z"):  # both wait in the queue before either is looked at
            app.simulate_key(key)
        await until(pilot, lambda: "Servers" not in screen_text(app), "a zoom")
        assert "Log ▸" in screen_text(app)


async def test_the_zoom_gives_the_table_the_whole_screen(tmp_path: Path) -> None:
    many = tuple(instance(f"server-{number:02d}", State.READY) for number in range(25))
    async with running(FakeCore(replace(story(tmp_path), instances=many))) as (app, pilot):
        await until_shown(pilot, app, "server-00")
        assert "server-24" not in screen_text(app)
        await pilot.press("z")
        await until_shown(pilot, app, "server-24")
        assert "server-00" in screen_text(app)


async def test_follow_is_said_in_the_title(tmp_path: Path) -> None:
    snapshot = story(tmp_path)
    snapshot.instances[1].log_path.write_text("".join(f"line {number}\n" for number in range(100)))
    async with running(FakeCore(snapshot)) as (app, pilot):
        await until_shown(pilot, app, "line 99")
        await pilot.press("F")
        await until_shown(pilot, app, "F follows, 100 lines")
        await pilot.press("F")
        await until_shown(pilot, app, "── following")


async def test_80_columns_keep_five_keys_and_the_columns_that_matter(tmp_path: Path) -> None:
    async with running(FakeCore(story(tmp_path)), size=NARROW) as (app, pilot):
        await until_shown(pilot, app, "qwen36-512")
        await pilot.press("3")
        footer = screen_lines(app)[-1]
        for key in ("a launch", "x stop", "l log", "? help", "q quit"):
            assert key in footer
        header = next(line for line in screen_lines(app) if "last word" in line)
        assert header.split() == ["name", "state", "GPU", "GiB", "last", "word"]
        assert sum("Log ▸" in line for line in screen_lines(app)) == 1


async def test_a_click_on_the_footer_is_its_key(tmp_path: Path) -> None:
    async with running(FakeCore(story(tmp_path))) as (app, pilot):
        await until_shown(pilot, app, "? help")
        line = screen_lines(app)[-1]
        await pilot.click(offset=(line.index("? help") + 2, len(screen_lines(app)) - 1))
        await until_shown(pilot, app, "Esc closes")


async def test_a_click_on_a_server_selects_it(tmp_path: Path) -> None:
    async with running(FakeCore(story(tmp_path))) as (app, pilot):
        await until_shown(pilot, app, "qwen36-512")
        lines = screen_lines(app)
        await pilot.click(offset=(8, next(y for y, line in enumerate(lines) if "qwen36-512  ✗" in line)))
        await until_shown(pilot, app, "Log ▸ qwen36-512")
        assert "Servers" in screen_text(app)


async def test_read_only_hides_what_changes_the_machine(tmp_path: Path) -> None:
    core = FakeCore(story(tmp_path))
    async with running(core, read_only=True) as (app, pilot):
        await until_shown(pilot, app, "read-only")
        assert "launch" not in screen_lines(app)[-1]
        assert "stop" not in screen_lines(app)[-1]
        for key in ("a", "x", "X", "f9"):
            await pilot.press(key)
            await until_shown(pilot, app, "read-only: nothing is changed")
            assert isinstance(app.screen, Dashboard)
            await pilot.press("escape")
            await until(pilot, lambda: "nothing is changed" not in screen_text(app), "Esc takes it away")
        await pilot.press("question_mark")
        assert "Kill the selected server" not in screen_text(app)
    assert not core.launches
    assert not core.stops


async def test_help_names_what_can_be_done_with_the_selected_server(tmp_path: Path) -> None:
    async with running(FakeCore(story(tmp_path)), size=(160, 60)) as (app, pilot):
        await until_shown(pilot, app, "● ready")
        await pilot.press("j", "f1")  # on to the one that is ready
        await until_shown(pilot, app, "Help")
        text = screen_text(app)
        for command in (one for one in DASHBOARD if one.keys):
            assert command.help in text
            assert DEFAULT_KEYS.words(command) in text
        await pilot.press("q")
        assert isinstance(app.screen, Dashboard)


async def test_the_palette_finds_commands(tmp_path: Path) -> None:
    async with running(FakeCore(story(tmp_path))) as (app, pilot):
        await pilot.press(":")
        await until_shown(pilot, app, "Launch a server from a preset.")
        await pilot.press(*"signs mean")
        await until(pilot, lambda: "Launch a server" not in screen_text(app), "only what matches")
        await pilot.press("enter")
        await until_shown(pilot, app, "Esc closes")


@pytest.mark.parametrize("key", ["a", "x", "question_mark", "colon"])
async def test_a_dialogue_has_the_keys_to_itself(tmp_path: Path, key: str) -> None:
    async with running(FakeCore(story(tmp_path))) as (app, pilot):
        await until_shown(pilot, app, "q quit")
        await pilot.press(key)
        await until(pilot, lambda: not isinstance(app.screen, Dashboard), "a dialogue")
        await until(pilot, lambda: "q quit" not in screen_lines(app)[-1], "no keys in the last line")
        app._sampler.look_now()
        await pilot.press("escape")
        await until_shown(pilot, app, "q quit")


async def test_successes_pass_and_failures_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tui.app.changing._PASSING_S", 0.05)
    async with running(FakeCore(story(tmp_path))) as (app, pilot):
        for kind in (Kind.WORKING, Kind.DONE, Kind.PROBLEM):
            app.tell(Notice(kind.value, kind, f"news of {kind.value}"))
        await until(pilot, lambda: len(app.notices) == 2, "one of them is gone")
        assert [notice.kind for notice in app.notices] == [Kind.WORKING, Kind.PROBLEM]
        again = Notice("problem", Kind.DONE, "it works now")
        app.tell(again)
        assert again in app.notices
        await until(pilot, lambda: again not in app.notices, "and this one, too")


async def test_the_farewell_is_of_the_newest_look(tmp_path: Path) -> None:
    core = FakeCore(story(tmp_path))
    async with running(core) as (app, pilot):
        await until_shown(pilot, app, "llama8b")
        ended = replace(story(tmp_path).instances[1], state=State.STOPPED)
        core.now = replace(story(tmp_path), instances=(story(tmp_path).instances[0], ended))
        await pilot.press("q")
        await until(pilot, lambda: not app.is_running, "the end")
        message = app._exit_renderables[0]
    assert str(message) == "qwen36-mtp goes on running; `sgltui` shows and stops it."


async def test_leaving_closes_the_core(tmp_path: Path) -> None:
    core = FakeCore(story(tmp_path))
    async with running(core) as (app, pilot):
        await pilot.press("q")
        await until(pilot, lambda: not app.is_running, "the end")
    assert core.closed


async def test_leaving_does_not_wait_for_a_reader_that_hangs(tmp_path: Path) -> None:
    core = FakeCore(story(tmp_path))
    async with running(core) as (app, pilot):
        core.look_gate.clear()
        looks = core.asked
        app._sampler.look_now()
        await until(pilot, lambda: core.asked > looks, "a look that hangs")
        await pilot.press("q")
        await until(pilot, lambda: not app.is_running, "the end")
    assert not core.closed  # the driver may still be used by the thread that hangs in it
    core.look_gate.set()


async def test_ctrl_c_says_how_to_leave(tmp_path: Path) -> None:
    async with running(FakeCore(story(tmp_path))) as (app, pilot):
        await pilot.press("ctrl+c")
        await until_shown(pilot, app, "q leaves; servers go on running")
