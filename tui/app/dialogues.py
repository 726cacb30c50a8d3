"""Questions as dialogues: each reads from top to bottom, and changes nothing by itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from textual.app import App
from textual.screen import Screen

from tui.app.bridge import in_thread
from tui.app.core import Core, LaunchRequest
from tui.app.notices import Trouble
from tui.app.screens.confirm import (
    ConfirmScreen,
    Question,
    leave_question,
    second_kill_question,
    stop_question,
)
from tui.app.screens.launch import LaunchScreen
from tui.app.words import Glyphs
from tui.observe import Instance, Snapshot


@dataclass(frozen=True, slots=True)
class Refused:
    """A launch that was refused: what was typed, and why."""

    request: LaunchRequest
    trouble: Trouble


async def ask_launch(
    app: App[Any], core: Core, snapshot: Snapshot | None, glyphs: Glyphs, refused: Refused | None
) -> LaunchRequest | None:
    """Which preset, under which name, port and GPUs; None: nothing is launched."""
    presets, problems = await in_thread(core.presets)
    instances = snapshot.instances if snapshot is not None else ()
    typed, trouble = (refused.request, refused.trouble) if refused is not None else (None, None)
    screen = LaunchScreen(presets, problems, instances, glyphs, typed=typed, refusal=trouble)
    return await app.push_screen_wait(screen)


async def ask_stop(app: App[Any], instance: Instance, snapshot: Snapshot | None, glyphs: Glyphs, *, kill: bool) -> bool:
    """Whether it is meant; a kill is asked about twice."""
    questions = [stop_question(instance, snapshot, kill=kill)]
    if kill:
        questions.append(second_kill_question(instance))
    for question in questions:
        if not await _confirmed(app, question, glyphs):
            return False
    return True


async def ask_leave(app: App[Any], busy: Sequence[str], glyphs: Glyphs) -> bool:
    """Whether to leave although something is under way."""
    return await _confirmed(app, leave_question(busy), glyphs)


async def _confirmed(app: App[Any], question: Question, glyphs: Glyphs) -> bool:
    screen: Screen[bool] = ConfirmScreen(question, glyphs)
    return await app.push_screen_wait(screen)
