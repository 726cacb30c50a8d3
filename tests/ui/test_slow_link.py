"""What is painted while the terminal hasn't drawn the last frame yet."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from msgspec.structs import replace

from tests.support.fake_core import FakeCore, instance, story
from tests.support.screen import running, screen_text, until, until_shown
from tui.app.app import SgltuiApp
from tui.app.link import Link
from tui.keeper.states import State
from tui.observe import Snapshot


def lag(app: SgltuiApp) -> None:
    """A round trip takes no time, and the answer to the newest question is late."""
    now = 100.0
    app.link = Link(lambda: now)
    app.link.ask()
    app.link.answered()
    app.link.ask()
    now += 0.3
    assert app.link.is_behind


def is_held(app: SgltuiApp, seen: Snapshot) -> bool:
    """It was seen, and isn't shown yet."""
    return app._unshown is not None and app._unshown.instances == seen.instances


async def test_the_first_look_is_shown_whatever_the_link(tmp_path: Path) -> None:
    """Else an answer that is lost while the screen is set up leaves it empty for seconds."""
    async with running(FakeCore(story(tmp_path)), before=lag) as (app, pilot):
        await until_shown(pilot, app, "qwen36-512")
        assert app.link.is_behind


async def test_later_ones_wait_for_the_terminal_and_the_newest_is_shown(tmp_path: Path) -> None:
    core = FakeCore(snapshot := story(tmp_path))
    async with running(core) as (app, pilot):
        lag(app)
        for name in ("second", "third"):
            core.now = seen = replace(snapshot, instances=(instance(name, State.READY),))
            app.look_now()
            await until(pilot, partial(is_held, app, seen), "the look is held back")
        assert "qwen36-512" in screen_text(app)
        app.link.answered()
        await until_shown(pilot, app, "third")
