"""The memory budget of the selected server: what its launch takes, whether that fits, and what would."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content

from tui.app.budgets import BudgetAnswer, BudgetQuestion
from tui.app.core import LaunchedServer
from tui.app.glyphs import Glyphs
from tui.app.widgets.budget_lines import budget_lines
from tui.app.widgets.budget_words import MOST_CHANGES
from tui.app.widgets.text_lines import TextLines
from tui.app.words import format_indices
from tui.budget.types import MemoryBudget
from tui.keeper.states import ALIVE

_FRAME_CELLS = 4  # corners and blanks that a border's title leaves
_NAME_LEAST = 10
_PATIENCE_S = 0.2  # a plan that takes no longer isn't worth a word


class BudgetPanel(VerticalScroll, can_focus=True, inherit_bindings=False):
    """Shows the answer to its question; while there is none, that it is being worked out."""

    def __init__(self, glyphs: Glyphs, *, id: str, classes: str) -> None:  # noqa: A002 Textual's own name
        super().__init__(id=id, classes=classes)
        self._glyphs = glyphs
        self._whose: str | None = None
        self._question: BudgetQuestion | None = None
        self._answer: BudgetAnswer | None = None
        self._memory: Mapping[str, Any] = {}
        self._absent = ""
        self._hint = ""
        self._is_whole = False
        self._shown_title = ""
        self._changes = MOST_CHANGES  # that were proposed last

    def compose(self) -> ComposeResult:
        """Line by line."""
        yield TextLines()

    def ask(self, whose: str | None, question: BudgetQuestion | None, absent: str) -> None:
        """It is about this now: a server's name and what is asked, or words for why nothing is."""
        if (whose, question, absent) == (self._whose, self._question, self._absent):
            return
        if not self._is_edit_of(question):
            self._answer = None
            self.scroll_home(animate=False)
        self._whose, self._question, self._absent = whose, question, absent
        if self._answer is None:
            self._draw()
        else:
            self.set_timer(_PATIENCE_S, self._show_title)  # at most keys the answer comes first

    def _is_edit_of(self, question: BudgetQuestion | None) -> bool:
        """The same launch, perhaps with other flags: what is shown stays until its own answer comes, a moment later.

        Nothing then collapses and comes back at each key that is typed.
        """
        if question is None or self._question is None:
            return False
        old, new = self._question.about, question.about
        if isinstance(old, LaunchedServer) or isinstance(new, LaunchedServer):
            return old == new
        return type(old) is type(new) and replace(old, edit=new.edit) == new

    def answer(self, answer: BudgetAnswer) -> None:
        """Show it, if it is about what was asked; a little older than the question it may be."""
        if self._question is not None and answer.question.about == self._question.about:
            self._answer = answer
            if answer.budget is not None and answer.budget.changes:
                self._changes = min(MOST_CHANGES, len(answer.budget.changes))
            self._draw()

    def show_measured(self, memory: Mapping[str, Any]) -> None:
        """What the log of that launch reported, by the names of `explain --json`."""
        if memory != self._memory:
            self._memory = memory
            self._draw()

    def show_how(self, *, whole: bool, hint: str) -> None:
        """Zoomed, everything is told; the hint, how to see what has its place else, ends the title."""
        if (whole, hint) != (self._is_whole, self._hint):
            self._is_whole, self._hint = whole, hint
            self._draw()

    def on_mount(self) -> None:
        """Say that there is nothing yet."""
        self._draw()

    def on_resize(self) -> None:
        """Another width, other lines."""
        self._draw()

    def on_show(self) -> None:
        """Seen again, perhaps in its old size."""
        self.redraw()

    def redraw(self) -> None:
        """Draw what came while it was hidden; nothing was laid out or painted of that."""
        self._draw()
        self.query_one(TextLines).refresh(layout=True)

    def _draw(self) -> None:
        region = self.scrollable_content_region
        if region.width:
            self.query_one(TextLines).show(self._lines(region.width, region.height))
        self._show_title()

    def _show_title(self) -> None:
        """A title that is set repaints the panel, be it the same one."""
        title = self._title()
        if title != self._shown_title:
            self._shown_title = title
            self.border_title = Content(title)

    def _conditions(self, budget: MemoryBudget) -> str:
        """What it is planned for; what has ended may find others on its GPUs now."""
        about = self._question.about if self._question is not None else None
        is_over = isinstance(about, LaunchedServer) and about.state not in ALIVE
        when = "launched again now," if is_over else "planned for"
        return f"{when} SGLang {self._glyphs.plain(budget.release)}{_cards(budget)}"

    def _lines(self, width: int, height: int) -> list[Content]:
        if self._question is None:
            return list(Content.styled(self._absent, "$quiet").wrap(width))
        if self._answer is None:
            return [Content.styled(f"planning{self._glyphs.ellipsis}", "$quiet")]
        memory, room = self._memory, self._changes
        return budget_lines(self._answer, width, height, self._glyphs, whole=self._is_whole, memory=memory, room=room)

    def _title(self) -> str:
        glyphs = self._glyphs
        if self._whose is None:
            return _between_rules(glyphs, " Budget", self._hint)
        budget = self._answer.budget if self._answer is not None else None
        conditions = self._conditions(budget) if budget is not None else ""
        if self._answer is not None and self._question is not None and self._answer.question != self._question:
            conditions = f"planning{glyphs.ellipsis}"
        rest = _between_rules(glyphs, "", conditions, self._hint)
        start = f" Budget {glyphs.pointer} "
        if self.size.width - len(start) - len(rest) - _FRAME_CELLS < _NAME_LEAST:  # how to see the others comes first
            rest = _between_rules(glyphs, "", self._hint)
        room = self.size.width - len(start) - len(rest) - _FRAME_CELLS
        return start + glyphs.fit(glyphs.plain(self._whose), max(_NAME_LEAST, room)) + rest


def _cards(budget: MemoryBudget) -> str:
    """The GPUs it is planned for."""
    indices = format_indices(card.index for card in budget.cards)
    return f" on GPU {indices}" if indices else ""


def _between_rules(glyphs: Glyphs, *parts: str) -> str:
    first, *others = parts
    return first + "".join(f" {glyphs.rule} {part}" for part in others if part) + " "
