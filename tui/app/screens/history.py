"""The attempts at one server, newest first: when, how it ended, how far it got, what was changed, and why it failed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from tui.app.command import Command, bindings
from tui.app.commands.dialogues import PAST_ATTEMPTS, SHOW_ATTEMPT
from tui.app.glyphs import Glyphs
from tui.app.keys_line import LABEL_CELLS, keys_line
from tui.app.moving import move
from tui.app.notices import Trouble
from tui.app.screens.dialog import Dialog
from tui.app.widgets.finding_lines import attempt_number
from tui.app.widgets.text_line import TextLine
from tui.app.words import STAGE_WORDS, STATE_STYLES
from tui.app.wrapping import cut
from tui.keeper.states import State
from tui.units import format_duration, format_gib

if TYPE_CHECKING:
    from tui.launch.history import Attempt

_INDENT = " " * 5
_OUTCOME_CELLS, _AGO_CELLS = 22, 14


class AttemptList(OptionList, inherit_bindings=False):
    """Its keys are the screen's, but for the one that chooses."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "select", show=False)]


class HistoryScreen(Dialog[str | None]):
    """Is there at once and filled when the logs were looked into; its answer is the launch whose log is wanted."""

    COMMAND_LIST = PAST_ATTEMPTS
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(PAST_ATTEMPTS)]

    def __init__(self, name: str, glyphs: Glyphs) -> None:
        super().__init__(glyphs)
        self.about = name
        self._attempts: Sequence[Attempt] = ()

    def compose(self) -> ComposeResult:
        """A list in a box."""
        with Vertical(classes="dialog history") as box:
            box.border_title = Content(f" Attempts at {self._glyphs.plain(self.about)}, newest first ")
            yield TextLine(id="history-words")
            yield AttemptList(id="attempts", markup=False, compact=True)

    def on_mount(self) -> None:
        """It takes a moment to look into all the logs."""
        self._say(f"reading{self._glyphs.ellipsis}")

    def fill(self, attempts: Sequence[Attempt]) -> None:
        """Show them; oldest first is how they come."""
        if not self.is_attached:  # it was left while they were read
            return
        self._attempts = tuple(reversed(attempts))
        self._say("" if attempts else "No launch of it can be read; `sgltui doctor` says why.")
        self._draw()
        self.query_one(OptionList).focus()
        self._show_keys()

    def is_idle(self, command: Command) -> bool:
        """There is none whose log could be shown."""
        return command is SHOW_ATTEMPT and not self._attempts

    def refuse(self, trouble: Trouble) -> None:
        """They couldn't be read."""
        if self.is_attached:
            self._say(f"{trouble.what}: {trouble.hint}" if trouble.hint else trouble.what)

    def on_resize(self) -> None:
        """Another width, other words."""
        self._show_keys()
        self._draw()

    async def action_move(self, direction: str) -> None:
        """With the keys of the other lists."""
        await move(self.query_one(OptionList), direction)

    @on(OptionList.OptionSelected)
    def _chosen(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option.id)

    def _show_keys(self) -> None:
        box = self.query_one(Vertical)
        line = keys_line(self, box.outer_size.width - LABEL_CELLS)
        box.border_subtitle = Content.assemble(" ", line, " ")

    def _say(self, words: str) -> None:
        self.query_one("#history-words", TextLine).show(Content.styled(self._glyphs.plain(words), "$quiet"))

    def _draw(self) -> None:
        attempts, width = self.query_one(OptionList), self.query_one(Vertical).scrollable_content_region.width - 2
        if not self._attempts or width <= 0:
            return
        chosen = attempts.highlighted or 0
        attempts.clear_options()
        now = datetime.now(UTC)
        attempts.add_options(
            Option(attempt_content(one, width, self._glyphs, now), id=one.launch) for one in self._attempts
        )
        attempts.highlighted = chosen


def attempt_content(attempt: Attempt, width: int, glyphs: Glyphs, now: datetime) -> Content:
    """Two lines, three where flags were changed: number, age, outcome and shortage; the changes; the cause."""
    state, style = attempt.state, STATE_STYLES.get(attempt.state, "")
    number = f"#{attempt_number(attempt.launch)}".ljust(len(_INDENT))
    age = f"{format_duration((now - attempt.created_at).total_seconds())} ago".ljust(_AGO_CELLS)
    outcome = f"{glyphs.states[state]} {_outcome(attempt)}".ljust(_OUTCOME_CELLS)
    short = f"short by {format_gib(attempt.short_bytes)} GiB" if attempt.short_bytes else ""
    room = max(0, width - len(number) - len(age) - len(outcome))
    head = Content.assemble(
        (number, "bold"), (age, "$quiet"), (outcome, f"bold {style}" if style else "bold"), glyphs.fit(short, room)
    )
    changed = f"changed: {', '.join(attempt.changed)}" if attempt.changed else ""
    below = [(changed, ""), (attempt.cause or "", "$quiet")]
    room = width - len(_INDENT)
    lines = [Content.styled(_INDENT + cut(text, room, glyphs), tone) for text, tone in below if text]
    return Content("\n").join([head, *lines])


def _outcome(attempt: Attempt) -> str:
    """`FAILED pool`, `stopped after ready`, `ready`."""
    if attempt.state in (State.FAILED, State.LOST):
        where = "after ready" if attempt.was_ready else STAGE_WORDS[attempt.stage] if attempt.stage is not None else ""
        return f"{str(attempt.state).upper()} {where}".rstrip()
    before = attempt.was_ready and attempt.state is not State.READY
    return f"{attempt.state} after ready" if before else str(attempt.state)
