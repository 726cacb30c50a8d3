"""One line under the log in which a person types what to look for, what to show, or where to go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from textual import events, on
from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Input, Label

from tui.app.command import bindings
from tui.app.commands.log import PROMPT

# What each prompt is called, and what may be typed.
PROMPTS = {
    "search": ("/", "regular expression; case counts, (?i) ignores it"),
    "filter": ("&", "show only lines that match; nothing shows all again"),
    "go": ("go to", "12:30, 2026-11-29 12:30:05, 50%, or the number of a line"),
}


def take_typed_ahead(app: App[None], event: events.Key) -> None:
    """For an app's `on_key`: a character that was typed before the prompt had the keys is meant for the prompt.

    What an input takes doesn't come up to the app; a character that does was on its way when the prompt opened.
    """
    answer = app.focused
    if isinstance(answer, Input) and isinstance(answer.parent, LogPrompt) and event.is_printable and event.character:
        answer.insert_text_at_cursor(event.character)
        event.prevent_default()


class LogPrompt(Horizontal):
    """Hidden until it is asked for. Enter answers, Esc gives up; both hide it again.

    It lies over the last row of its parent, which needs a layer `prompt`: so nothing has to move or to be repainted.
    """

    DEFAULT_CSS = """
    LogPrompt { layer: prompt; dock: bottom; height: 1; background: $surface; display: none; }
    LogPrompt.-open { display: block; }
    LogPrompt Label { width: auto; padding: 0 1; text-style: bold; }
    LogPrompt Input, LogPrompt Input:focus { border: none; height: 1; width: 1fr; padding: 0; background: $surface; }
    """
    COMMAND_LIST = PROMPT
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(PROMPT)]

    @dataclass
    class Answered(Message):
        """What was typed; None when the person gave up."""

        prompt: str
        text: str | None

    def __init__(self) -> None:
        super().__init__()
        self._prompt = ""

    def compose(self) -> ComposeResult:
        """What it asks, and the answer."""
        yield Label("", markup=False)
        answer = Input(compact=True)
        answer.can_focus = False
        yield answer

    def ask(self, prompt: str) -> None:
        """Open it; `prompt` is a key of `PROMPTS`."""
        sign, hint = PROMPTS[prompt]
        self._prompt = prompt
        self.query_one(Label).update(sign)
        answer = self.query_one(Input)
        answer.value, answer.placeholder = "", hint
        self.add_class("-open")
        answer.can_focus = True
        # At once, and not by `focus`, which waits: keys that were typed ahead are meant for the prompt.
        self.screen.set_focus(answer)

    def action_give_up(self) -> None:
        """Leave everything as it is."""
        self._close(None)

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._close(event.value)

    def _close(self, text: str | None) -> None:
        self.remove_class("-open")
        self.query_one(Input).can_focus = False
        self.post_message(self.Answered(self._prompt, text))
