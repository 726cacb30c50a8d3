"""Questions as dialogues: asked one after the other; they change nothing by themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from textual.app import App
from textual.screen import Screen

from tui.app.glyphs import Glyphs
from tui.app.screens.confirm import ConfirmScreen, Question


async def ask_all(app: App[Any], questions: Sequence[Question], glyphs: Glyphs) -> bool:
    """Whether every one of these is answered with yes; the first no ends it."""
    for question in questions:
        screen: Screen[bool] = ConfirmScreen(question, glyphs)
        if not await app.push_screen_wait(screen):
            return False
    return True
