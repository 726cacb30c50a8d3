"""Reading the screen of an app under test, and waiting for it."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial

from textual.message import Message
from textual.pilot import Pilot

from tests.support.fake_core import FakeCore
from tui.app.app import SgltuiApp
from tui.app.bridge import in_thread
from tui.app.core import Core
from tui.app.layout import LayoutFile
from tui.app.preferences import Preferences

_STEP_S, _LOOK_S = 0.02, 20.0
WIDE, STORY, NARROW = (160, 48), (120, 34), (80, 24)


def screen_lines(app: SgltuiApp) -> list[str]:
    """What a person reads, line by line, without colours."""
    strips = app.screen._compositor.render_strips()
    return ["".join(segment.text for segment in strip).rstrip() for strip in strips]


def screen_text(app: SgltuiApp) -> str:
    """All of it."""
    return "\n".join(screen_lines(app))


async def until(pilot: Pilot[None], condition: Callable[[], object], what: str = "", timeout_s: float = 20.0) -> None:
    """Let the app work until `condition()` is true; the limit only bounds a failing test."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {timeout_s} s: {what}\n{pilot.app.screen}")
        await pilot.pause(_STEP_S)
    await pilot.pause()


async def until_shown(pilot: Pilot[None], app: SgltuiApp, text: str) -> None:
    """Wait until this stands on the screen."""
    await until(pilot, lambda: text in screen_text(app), f"{text!r} on the screen")


async def look(pilot: Pilot[None], app: SgltuiApp, core: FakeCore) -> None:
    """Have the app see what the core shows now."""
    asked_for = core.now
    seen = await in_thread(partial(app._sampler.look_fresh, _LOOK_S))
    assert core.now is asked_for
    await until(pilot, lambda: app.snapshot == seen, "the newest snapshot")


@asynccontextmanager
async def running(
    core: Core,
    *,
    size: tuple[int, int] = STORY,
    read_only: bool = False,
    ascii_only: bool = False,
    hook: Callable[[Message], None] | None = None,
    wait: bool = True,
    preferences: Preferences | None = None,
    layout_file: LayoutFile | None = None,
    before: Callable[[SgltuiApp], None] | None = None,
) -> AsyncIterator[tuple[SgltuiApp, Pilot[None]]]:
    """The app over this core, with its first snapshot on the screen unless told not to wait."""
    app = SgltuiApp(
        core,
        where="gpu-box-7",
        read_only=read_only,
        ascii_only=ascii_only,
        preferences=preferences,
        layout_file=layout_file,
    )
    if before is not None:
        before(app)
    async with app.run_test(size=size, message_hook=hook) as pilot:
        if wait:
            await until(pilot, lambda: app.snapshot is not None or app.trouble is not None, "the first look")
        yield app, pilot
