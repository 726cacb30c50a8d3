"""In read-only mode nothing that changes the machine can be done, from any screen, by key, palette or message."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from msgspec.structs import replace
from textual.pilot import Pilot

from tests.support.fake_core import FakeCore, preset, story
from tests.support.screen import running, screen_text, until, until_shown
from tui.app import messages
from tui.app.app import SgltuiApp
from tui.app.command import Command
from tui.app.commands import PLACES, all_commands
from tui.app.core import Adjusted, LaunchRequest
from tui.app.notices import Trouble
from tui.app.screens.adjust import AdjustScreen

REFUSAL = "read-only: nothing is changed"
CHANGING = [command for command in all_commands() if command.changes]
Way = Callable[[Pilot[None], SgltuiApp], Awaitable[None]]


async def _stay(pilot: Pilot[None], app: SgltuiApp) -> None:
    await until_shown(pilot, app, "● ready")
    await pilot.press("j")


async def _to_the_editor(pilot: Pilot[None], app: SgltuiApp) -> None:
    await _stay(pilot, app)
    await pilot.press("R")
    await until_shown(pilot, app, "max-running-requests")


# How to come to each place in which something can be changed. The form can't be reached: what opens it is refused.
WAYS: dict[str, Way | None] = {
    "on the dashboard": _stay,
    "in the flag editor": _to_the_editor,
    "in the launch form": None,
}


def changing_keys() -> list[tuple[str, Command, str]]:
    return [
        (place.name, command, key)
        for place in PLACES
        for command in place.commands
        if command.changes
        for key in command.keys
    ]


def untouched(core: FakeCore) -> bool:
    return not (core.launches or core.relaunches or core.stops or core.smokes)


@pytest.mark.parametrize(
    ("place", "command", "key"), changing_keys(), ids=lambda value: getattr(value, "id", str(value).replace(" ", "-"))
)
async def test_the_keys_of_what_changes_say_why_not(tmp_path: Path, place: str, command: Command, key: str) -> None:
    way = WAYS[place]
    if way is None:
        return
    core = FakeCore(story(tmp_path), [preset()])
    core.words = ("--max-running-requests", "8")
    async with running(core, read_only=True) as (app, pilot):
        await way(pilot, app)
        screen = app.screen
        await pilot.press(key)
        await until_shown(pilot, app, REFUSAL)
        assert app.screen is screen
        assert not any(dialogue.group == "dialogue" and not dialogue.is_finished for dialogue in app.workers)
    assert untouched(core), command.id


async def test_neither_footer_nor_palette_nor_help_offers_it(tmp_path: Path) -> None:
    async with running(FakeCore(story(tmp_path)), read_only=True, size=(120, 90)) as (app, pilot):
        await _stay(pilot, app)
        offered = [command.help for command in CHANGING]
        for key in ("colon", "question_mark"):
            await pilot.press(key)
            await until(pilot, lambda: len(app.screen_stack) > 1, "it is open")
            await until_shown(pilot, app, "Show the attempts at the selected server.")
            assert not [words for words in offered if words in screen_text(app)]
            await pilot.press("escape")
            await until(pilot, lambda: len(app.screen_stack) == 1, "it is closed")


class Dialogue:
    """Where it was asked for."""

    def __init__(self) -> None:
        self.refusals: list[str] = []

    def say_launching(self, request: object) -> None:
        raise AssertionError(request)

    def refuse(self, trouble: Trouble) -> None:
        self.refusals.append(trouble.what)

    def close(self) -> None:
        raise AssertionError


async def test_a_message_that_comes_past_the_keys_changes_nothing_either(tmp_path: Path) -> None:
    core = FakeCore(story(tmp_path), [preset()])
    one = replace(story(tmp_path).instances[0])
    async with running(core, read_only=True) as (app, pilot):
        dialogue = Dialogue()
        for message in (
            messages.StopAsked(one, kill=False),
            messages.StopAsked(one, kill=True),
            messages.TestWanted(one),
            messages.BackAsked(one),
            messages.LaunchWanted(LaunchRequest("qwen36-mtp"), dialogue),
            messages.RelaunchWanted(Adjusted(one.name, one.launch), dialogue),
        ):
            app.notices = ()
            app.post_message(message)
            await until_shown(pilot, app, REFUSAL)
        assert dialogue.refusals == [REFUSAL] * 2
        assert len(app.screen_stack) == 1
    assert untouched(core)


async def test_the_editor_can_be_looked_at(tmp_path: Path) -> None:
    core = FakeCore(story(tmp_path))
    core.words = ("--max-running-requests", "8")
    async with running(core, read_only=True) as (app, pilot):
        await _to_the_editor(pilot, app)
        assert isinstance(app.screen, AdjustScreen)
        assert "R launch" not in screen_text(app)
