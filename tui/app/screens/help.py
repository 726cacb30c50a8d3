"""The keys, and what the signs on the screen mean."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from tui.app.command import Situation
from tui.app.commands import COMMANDS
from tui.app.glyphs import Glyphs
from tui.app.holders import FOREIGN, RESERVED, UNTOLD
from tui.app.widgets.budget_parts import KINDS
from tui.app.widgets.finding_panel import FINDING_KEYS
from tui.app.widgets.log_panel import LOG_KEYS
from tui.keeper.states import State


class HelpScreen(ModalScreen[None]):
    """Closes with the key that opened it, or any that means back."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,?,f1,enter", "dismiss", "close", show=False),
        Binding("j", "scroll('down')", "down", show=False),
        Binding("k", "scroll('up')", "up", show=False),
    ]

    def __init__(self, situation: Situation, glyphs: Glyphs) -> None:
        super().__init__(classes="-ascii" if glyphs.ascii_only else None)
        self._text = help_content(situation, glyphs)
        self._glyphs = glyphs

    def compose(self) -> ComposeResult:
        """One page that scrolls."""
        with VerticalScroll(classes="dialog tall") as page:
            page.border_title = Content(" Help ")
            page.border_subtitle = Content(" Esc closes ")
            yield Static(self._text, markup=False)

    def action_scroll(self, direction: str) -> None:
        """A line down or up."""
        page = self.query_one(VerticalScroll)
        if direction == "down":
            page.scroll_down(animate=False)
        else:
            page.scroll_up(animate=False)


def help_content(situation: Situation, glyphs: Glyphs) -> Content:
    """Keys from the commands themselves, then signs."""
    commands = [command for command in COMMANDS if command.keys and command.is_shown(situation)]
    keys = [(command.key_words(), command.help()) for command in commands]
    states = [(f"{glyphs.states[state]} {state}", words) for state, words in _STATE_HELP.items()]
    signs = [
        ("A B C", "a server; the same letter stands before its name"),
        (FOREIGN, "a process that no server here has started"),
        (UNTOLD, "memory in use that the driver puts down to no process"),
        (RESERVED, "reserved by driver and firmware"),
        (glyphs.free, "free"),
    ]
    in_log = [(binding.key.replace(",", ", "), binding.tooltip) for binding in LOG_KEYS]
    in_finding = [(binding.key.replace("enter", "Enter"), binding.tooltip) for binding in FINDING_KEYS]
    blocks = (
        ("Keys", keys),
        ("In the log", in_log),
        (
            "In the finding",
            in_finding,
        ),
        ("GPU bars", signs),
        ("Budget bars", _budget_signs(glyphs)),
        ("States", states),
    )
    return Content("\n").join(line for title, entries in blocks for line in _block(title, entries))


def _budget_signs(glyphs: Glyphs) -> list[tuple[str, str]]:
    parts = [(kind.sign, kind.help) for kind in KINDS]
    return [*parts, (glyphs.overflow, "what doesn't fit"), (glyphs.free, "free, or kept out of the pools")]


_STATE_HELP = {
    State.STARTING: "its process runs and imports SGLang",
    State.LOADING: "weights, memory pools, CUDA graphs, warm-up",
    State.READY: "alive, on its port, and answering",
    State.STOPPING: "asked to stop; not all is gone yet",
    State.STOPPED: "ended because it was asked to",
    State.EXITED: "ended by itself, without an error",
    State.FAILED: "ended with an error; the last word says why",
    State.LOST: "gone, and nobody was there to see how",
}


def _block(title: str, entries: list[tuple[str, str]]) -> list[Content]:
    width = max(len(left) for left, _ in entries)
    lines = [Content.assemble((f"{left:<{width}}", "bold $primary"), f"  {right}") for left, right in entries]
    return [Content.styled(title, "bold"), *lines, Content("")]
