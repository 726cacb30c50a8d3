"""Key lines of editor and boxes: what does something now, in keys that stand out from their words."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.color import Color
from textual.pilot import Pilot

from tests.support.budgets import EXCEEDS, FITS
from tests.support.fake_core import EMPTY, FakeCore, gpu, identity, instance, preset, story
from tests.support.screen import WIDE, running, screen_lines, screen_text, until, until_shown
from tui.app.app import SgltuiApp
from tui.app.preferences import Preferences
from tui.app.theme import ANSI_DARK, ANSI_LIGHT, DARK, LIGHT
from tui.app.widgets.budget_panel import BudgetPanel
from tui.gpu import GpuReading
from tui.keeper.states import State
from tui.observe import Snapshot

TYPED = ("--model-path", "Qwen/Qwen3.6-27B", "--mem-fraction-static", "0.8")


def editor_core() -> FakeCore:
    """A core over a failed server whose launch doesn't fit."""
    core = FakeCore(Snapshot(GpuReading((gpu(0),)), (instance("story", State.FAILED, pid=None),)))
    core.budget, core.words = EXCEEDS, TYPED
    return core


async def last_line(pilot: Pilot[None], app: SgltuiApp, *words: str) -> str:
    """The line of keys, once it has these words."""
    await until(pilot, lambda: all(one in screen_lines(app)[-1] for one in words), f"{words} in the last line")
    return screen_lines(app)[-1]


async def test_the_editor_tells_what_its_keys_do_now() -> None:
    core = editor_core()
    async with running(core, size=WIDE) as (app, pilot):
        await pilot.press("R")
        await until_shown(pilot, app, "DOESN'T FIT")
        # The third of its changes is another release, which no key can install.
        line = await last_line(pilot, app, "1-2 take", "R launch")
        assert "u undo" in line, "the flag under the cursor is given: it can be left out"
        await pilot.press("down")
        line = await last_line(pilot, app, "Enter change")
        assert "undo" not in line, "this one isn't given, and nothing was changed about it"
        await pilot.press("u")
        await pilot.pause()
        assert "nothing is changed" in screen_text(app)
        await pilot.press("tab")
        await until(pilot, lambda: isinstance(app.focused, BudgetPanel), "the budget has the keys")
        assert "Enter" not in await last_line(pilot, app, "1-2 take")
        await pilot.press("tab", "slash")
        assert (await last_line(pilot, app, "Enter to the flag")).split("  ") == [
            " Enter to the flag",
            "Esc back",
            "F1 help",
        ]
        await pilot.press("escape", "enter")
        line = await last_line(pilot, app, "Enter keep  Esc back")
        assert "take" not in line, "a digit is typed here"
        assert "undo" not in line, "Delete deletes here"


async def test_nothing_is_to_be_taken_where_it_fits() -> None:
    core = editor_core()
    core.budget = FITS
    async with running(core, size=WIDE) as (app, pilot):
        await pilot.press("R")
        await until_shown(pilot, app, "FITS  173k tokens")
        assert "take" not in await last_line(pilot, app, "R launch", "o GPUs")
        await pilot.press("o")
        line = await last_line(pilot, app, "Esc back")
        assert "Enter" not in line, "one GPU is no choice"


async def test_read_only_launches_nothing() -> None:
    async with running(editor_core(), size=WIDE, read_only=True) as (app, pilot):
        await pilot.press("R")
        assert "launch" not in await last_line(pilot, app, "1-2 take")


async def test_the_launch_form_tells_what_its_keys_do_now(tmp_path: Path) -> None:
    core = FakeCore(story(tmp_path), [preset()])
    core.budget = FITS
    async with running(core) as (app, pilot):
        await pilot.press("a")
        await until_shown(pilot, app, "Enter form, then launch  e flags  Tab next field  Esc leave")
        await pilot.press("enter")  # an e is typed in the field
        await until_shown(pilot, app, "Enter form, then launch  Tab next field  Esc leave")
    async with running(FakeCore(EMPTY)) as (app, pilot):
        await pilot.press("a")
        await until_shown(pilot, app, "No presets yet")
        await until_shown(pilot, app, " Esc leave  ? help ")
        assert "next field" not in screen_text(app)


async def test_no_log_of_an_attempt_where_there_is_no_attempt() -> None:
    core = editor_core()
    async with running(core) as (app, pilot):
        await pilot.press("H")
        await until_shown(pilot, app, "No launch of it can be read")
        await until_shown(pilot, app, " Esc back")
        assert "Enter its log" not in screen_text(app)


async def test_enter_gives_the_answer_that_has_the_keys() -> None:
    one = instance("story", State.READY, members=(identity(4211),), pid=4211)
    async with running(FakeCore(Snapshot(GpuReading((gpu(0),)), (one,)))) as (app, pilot):
        await pilot.press("x")
        await until_shown(pilot, app, "y yes   n, Esc, q, Enter no")
        await pilot.press("right")
        await until_shown(pilot, app, "y, Enter yes   n, Esc, q no")


async def test_the_footer_dims_what_needs_a_log(tmp_path: Path) -> None:
    for snapshot, is_bright in ((EMPTY, False), (story(tmp_path), True)):
        async with running(FakeCore(snapshot), size=WIDE) as (app, pilot):
            await pilot.press("3")
            await last_line(pilot, app, "/ search")
            assert looks(app)["/"][0] is is_bright


def looks(app: SgltuiApp) -> dict[str, tuple[bool, Color]]:
    """The pieces of the last line: whether each is bold, and its colour."""
    found = {}
    for text, style, _ in app.screen._compositor.render_strips()[-1]:
        if text.strip():
            assert style is not None
            assert style.color is not None
            found[text.strip()] = (bool(style.bold), style.color)
    return found


@pytest.mark.parametrize("theme", [DARK.name, LIGHT.name, ANSI_DARK.name, ANSI_LIGHT.name, None])
async def test_keys_stand_out_from_their_words(theme: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """In weight and colour, as in the dashboard's footer; without colours they are brighter."""
    if theme is None:
        monkeypatch.setenv("NO_COLOR", "1")
    async with running(editor_core(), preferences=Preferences(theme=theme)) as (app, pilot):
        await pilot.press("R")
        await last_line(pilot, app, "Enter change", "Esc back")
        pieces = looks(app)
    (is_key_bold, key), (is_word_bold, word) = pieces["Enter"], pieces["change"]
    assert (is_key_bold, is_word_bold) == (True, False)
    assert key != word
    if theme is None:
        assert key.get_truecolor().red > word.get_truecolor().red
