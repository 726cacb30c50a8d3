"""Help, palette and footer: what can be done here and now, wherever "here" is."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.screen import Screen

from tests.support.budgets import FITS
from tests.support.fake_core import EMPTY, FakeCore, preset, story
from tests.support.screen import running, screen_lines, screen_text, until, until_shown
from tui.app.app import SgltuiApp
from tui.app.screens.adjust import AdjustScreen
from tui.app.screens.help import HelpScreen
from tui.app.screens.history import HistoryScreen
from tui.app.screens.launch import LaunchScreen

TALL = (120, 70)


def help_lines(app: SgltuiApp) -> list[str]:
    """What can be read in the box, line by line."""
    assert isinstance(app.screen, HelpScreen)
    return app.screen.text.splitlines()


async def test_what_needs_a_server_is_left_out_where_there_is_none() -> None:
    async with running(FakeCore(EMPTY), size=TALL) as (app, pilot):
        await pilot.press("question_mark")
        await until_shown(pilot, app, "Launch a server from a preset.")
        assert "Stop the selected server" not in screen_text(app)
        assert "Go to the budget." in screen_text(app)


async def test_a_panel_comes_first_and_takes_its_keys_from_the_screen(tmp_path: Path) -> None:
    async with running(FakeCore(story(tmp_path)), size=TALL) as (app, pilot):
        await until_shown(pilot, app, "● ready")
        await pilot.press("j", "3", "question_mark")
        await until_shown(pilot, app, "Esc closes")
        lines = help_lines(app)
        search = next(place for place, line in enumerate(lines) if line.endswith("Search the log."))
        launch = next(place for place, line in enumerate(lines) if line.endswith("Launch a server from a preset."))
        assert lines.index("Keys here") < search < lines.index("Keys of this screen") < launch
        assert any(line.startswith("t, %") for line in lines)
        assert "Test a ready server" not in screen_text(app), "the log has the t"
        assert sum("Down one line." in line for line in lines) == 1


@pytest.mark.parametrize(
    ("keys", "screen", "filled", "words"),
    [
        (("a",), LaunchScreen, "▸ qwen36-mtp", "Change the preset's flags first."),
        (("j", "R"), AdjustScreen, "max-running-requests", "Launch it with these flags; asks if it runs."),
        (("H",), HistoryScreen, "No launch of it can be read", "Back to where you were."),
    ],
)
async def test_it_opens_from_the_form_the_editor_and_the_attempts(
    tmp_path: Path, keys: tuple[str, ...], screen: type[Screen[None]], filled: str, words: str
) -> None:
    core = FakeCore(story(tmp_path), [preset()])
    core.budget = FITS
    core.words = ("--max-running-requests", "8")
    async with running(core, size=TALL) as (app, pilot):
        await until_shown(pilot, app, "● ready")
        await pilot.press(*keys)
        await until_shown(pilot, app, filled)
        await pilot.press("question_mark")
        await until(pilot, lambda: isinstance(app.screen, HelpScreen), "help")
        await until_shown(pilot, app, words)
        assert "Kill the selected server" not in screen_text(app)
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, screen), "back where it was opened")


async def test_what_is_typed_is_no_command(tmp_path: Path) -> None:
    core = FakeCore(story(tmp_path), [preset()])
    core.budget = FITS
    async with running(core, size=TALL) as (app, pilot):
        await pilot.press("a")
        await until_shown(pilot, app, "▸ qwen36-mtp")
        await pilot.press("enter", "question_mark")
        assert isinstance(app.screen, LaunchScreen)
        await pilot.press("f1")
        await until(pilot, lambda: isinstance(app.screen, HelpScreen), "help")
        assert "Change the preset's flags first." not in screen_text(app), "an e is typed here"
        assert "Leave; nothing is launched." in screen_text(app)


async def test_the_palette_does_what_the_focused_panel_can(tmp_path: Path) -> None:
    snapshot = story(tmp_path)
    snapshot.instances[1].log_path.write_text("".join(f"line {number}\n" for number in range(100)))
    async with running(FakeCore(snapshot)) as (app, pilot):
        await until_shown(pilot, app, "line 99")
        await pilot.press("3", "colon")
        await until_shown(pilot, app, "search (/)")
        await pilot.press(*"go to a time")
        await until(pilot, lambda: "search (/)" not in screen_text(app), "only what matches")
        await pilot.press("enter")
        await until_shown(pilot, app, "or the number of a line")
        await pilot.press(*"7", "enter")
        await until_shown(pilot, app, "▸line 6")


async def test_the_footer_shows_the_focused_panels_keys_first(tmp_path: Path) -> None:
    snapshot = story(tmp_path)
    snapshot.instances[1].log_path.write_text("one\n")
    async with running(FakeCore(snapshot), size=(160, 48)) as (app, pilot):
        await until_shown(pilot, app, "q quit")
        assert "/ search" not in screen_lines(app)[-1]
        await pilot.press("3")
        await until(pilot, lambda: screen_lines(app)[-1].startswith(" / search"), "the log's keys")
        line = screen_lines(app)[-1]
        assert "a launch" in line
        await pilot.click(offset=(line.index("& filter") + 1, len(screen_lines(app)) - 1))
        await until_shown(pilot, app, "show only lines that match")


async def test_opened_from_another_panel_it_tells_of_that_one(tmp_path: Path) -> None:
    async with running(FakeCore(story(tmp_path)), size=TALL) as (app, pilot):
        await until_shown(pilot, app, "● ready")
        await pilot.press("question_mark")
        await until_shown(pilot, app, "Keys here")
        assert "Search the log." not in screen_text(app)
        await pilot.press("escape")
        await until_without(pilot, app, "Esc closes")
        await pilot.press("3", "question_mark")
        await until_shown(pilot, app, "Search the log.")


async def test_it_says_something_else_the_next_time_and_looks_like_the_theme_of_then(tmp_path: Path) -> None:
    async with running(FakeCore(story(tmp_path)), size=(120, 34)) as (app, pilot):
        await until_shown(pilot, app, "● ready")
        await pilot.press("question_mark")
        await until_shown(pilot, app, "Stop the selected server")
        first = app.screen
        await pilot.press("G", "escape")
        await until_without(pilot, app, "Esc closes")
        app.theme = "sgltui-light"
        await pilot.resize_terminal(100, 30)
        await pilot.press("3", "question_mark")
        await until_shown(pilot, app, "Search the log.")
        assert app.screen is first
        assert help_lines(app)[0] == "Keys here"
        assert "Keys here" in screen_text(app), "from the top again"
        assert max(len(line) for line in screen_lines(app)) <= 100
        kept = grounds(app)
        await pilot.press("escape")
        await until_without(pilot, app, "Esc closes")
        app.uninstall_screen("help")
        await pilot.press("question_mark")
        await until_shown(pilot, app, "Search the log.")
        assert app.screen is not first
        assert kept == grounds(app), "as one that is made now"


def grounds(app: SgltuiApp) -> list[list[tuple[str, str]]]:
    rows = app.screen._compositor.render_strips()
    return [[(segment.text, str(segment.style)) for segment in row] for row in rows]


async def until_without(pilot: Pilot[None], app: SgltuiApp, text: str) -> None:
    await until(pilot, lambda: text not in screen_text(app), f"{text!r} is gone")
