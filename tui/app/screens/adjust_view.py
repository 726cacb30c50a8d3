"""What the flag editor shows: flags, budget, difference, and where else it would fit; by itself it changes nothing."""

from __future__ import annotations

from dataclasses import replace

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.reactive import var
from textual.screen import Screen
from textual.widgets import Input

from tui.app.budgets import BudgetAnswer, BudgetQuestion, ask_about_adjusted, ask_about_request
from tui.app.commands.flags import FLAG_SEARCH, FLAG_VALUE
from tui.app.composing import SparingCompositor
from tui.app.core import Adjusted, Editable, FlagSheet
from tui.app.flag_rows import edited_flags, flag_rows, trouble_with
from tui.app.glyphs import Glyphs
from tui.app.gpu_words import choices_sentence
from tui.app.messages import BudgetAsked, GpuChoicesAsked
from tui.app.notices import Trouble
from tui.app.one_frame import OneFrame
from tui.app.screens.launch import trouble_content
from tui.app.widgets.budget_panel import BudgetPanel
from tui.app.widgets.budget_words import MOST_CHANGES
from tui.app.widgets.diff_lines import diff_lines
from tui.app.widgets.flag_list import FlagList
from tui.app.widgets.gpu_chooser import GpuChooser
from tui.app.widgets.scroll_box import ScrollBox
from tui.app.widgets.text_line import TextLine
from tui.app.widgets.text_lines import TextLines
from tui.app.widgets.value_input import ValueInput
from tui.budget.types import FlagChange, MemoryBudget
from tui.diagnosis.diagnosis import Change
from tui.diagnosis.words import describe_change
from tui.errors import UsageError
from tui.launch.gpu_choices import JudgedChoice
from tui.launch.spec import parse_gpus
from tui.observe import Snapshot
from tui.sglang.edit import DiffLine, FlagEdit, diff_words


class AdjustView(Screen[None]):
    """Shows what would be launched, and asks what that takes whenever it is something else.

    Attributes:
        snapshot, budget: bound to the app's state.
    """

    snapshot: var[Snapshot | None] = var(None, init=False)
    budget: var[BudgetAnswer | None] = var(None, init=False)

    def __init__(self, about: Editable, glyphs: Glyphs, offers: tuple[Change, ...]) -> None:
        super().__init__(classes="-ascii" if glyphs.ascii_only else None)
        self._compositor = SparingCompositor()
        self._about = about
        self._glyphs = glyphs
        self._offers = offers[:MOST_CHANGES]  # by its log or its live figures, for when the plan has nothing to propose
        self._sheet: FlagSheet | None = None
        self._asked: BudgetQuestion | None = None
        self._last: MemoryBudget | None = None
        self._is_waiting = False  # for the budget of what stands here
        self._frame = OneFrame(self)
        self._compared: BudgetQuestion | None = None  # for which GPUs were compared last
        self._choices: tuple[JudgedChoice, ...] = ()
        self._no_choice = "nothing to choose from yet: type GPUs, like 0,1"
        self._is_whole = False

    def compose(self) -> ComposeResult:
        """Title, the two sides, what is said, and the keys."""
        yield TextLine(id="adjust-title")
        with Horizontal(id="sides"):
            with Vertical(id="editor", classes="panel") as editor:
                editor.border_title = Content(" Flags ")
                yield TextLine(id="offers")
                yield ValueInput(self._frame.hold, FLAG_SEARCH, id="search", placeholder="part of a flag's name")
                yield FlagList(self._glyphs)
                yield TextLine(id="flag-help")
                yield GpuChooser(self._glyphs)
                yield ValueInput(self._frame.hold, FLAG_VALUE, id="value")
            with Vertical(id="outcome"):
                yield BudgetPanel(self._glyphs, id="budget", classes="panel")
                yield TextLine(id="elsewhere")
                with ScrollBox(id="difference", classes="panel") as difference:
                    difference.border_title = Content(" What changes ")
                    yield TextLines(fills=False)
        yield TextLine(id="answer")
        yield TextLine(id="adjust-keys")

    def on_mount(self) -> None:
        """Until the flags are read."""
        for box in self.query(Input):
            box.display = False
        self.query_one(GpuChooser).display = False
        self.query_one(FlagList).focus()
        self._show_title()

    def fill(self, sheet: FlagSheet) -> None:
        """The flags are read; a second time when the installation has told its own. What was changed stays."""
        if not self.is_attached:  # it was left
            return
        self._sheet = sheet
        self._show_title()
        self._edit(self._about.edit)

    def show_choices(self, choices: tuple[JudgedChoice, ...], absent: str = "") -> None:
        """What the plan says of other GPUs; or why it can't be told."""
        if not self.is_attached:
            return
        self._choices = choices
        self._no_choice = self._glyphs.plain(absent) or self._no_choice
        self.query_one(GpuChooser).show_choices(choices, self._no_choice)
        self._show_elsewhere()

    def watch_snapshot(self) -> None:
        """Others hold more or less memory now."""
        self._plan()

    def watch_budget(self) -> None:
        """A budget is there."""
        if self.budget is not None:
            self.query_one(BudgetPanel).answer(self.budget)
            self._show_rows()
            self._show_offers()
            if self._answered is not None:
                self._is_waiting = False
                self._frame.release()
                self._compare()

    def on_resize(self) -> None:
        """Other widths."""
        self.call_after_refresh(self._show_difference)
        self.call_after_refresh(self._show_elsewhere)

    @property
    def planned_edit(self) -> FlagEdit | None:
        """The edit whose budget is shown; None while the newest one is still worked out."""
        return self._about.edit if self._answered is not None else None

    @property
    def has_proposals(self) -> bool:
        """The changes that would make it fit are there, too."""
        return self._answered is not None and not self._answered.lacks_changes

    def _edit(self, edit: FlagEdit) -> None:
        """This is the edit now."""
        self._show_about(replace(self._about, edit=edit))

    def _show_about(self, about: Editable) -> None:
        """This is to be launched now."""
        self._about = about
        self._show_title()
        self._show_rows()
        self._show_difference()
        wrong = self._trouble()
        self._answer(trouble_content(Trouble(wrong), self._glyphs) if wrong is not None else Content())
        self._plan()

    def _trouble(self) -> str | None:
        if self._sheet is None:
            return None
        if self._about.gpus is not None:
            try:
                parse_gpus(self._about.gpus)
            except UsageError as error:
                return str(error)
        found = (trouble_with(self._sheet, name, words) for name, words in self._about.edit.set)
        return next((trouble for trouble in found if trouble is not None), None)

    @property
    def _proposals(self) -> tuple[FlagChange | Change, ...]:
        """What the keys 1 to 3 take: the plan's changes; where it has none, what the log's diagnosis suggests.

        Once something was changed, the log speaks of another launch.
        """
        budget = self._answered.budget if self._answered is not None else None
        planned = budget.changes[:MOST_CHANGES] if budget is not None else ()
        return planned if planned or self._about.edit else self._offers

    def _show_title(self) -> None:
        plain, sheet = self._glyphs.plain, self._sheet
        rest = "reading its flags" if sheet is None else f"{sheet.model} {self._glyphs.rule} SGLang {sheet.release}"
        verb = "Relaunch" if isinstance(self._about, Adjusted) else "Launch"
        gpus = self._about.gpus or (sheet.gpus if sheet is not None else "")
        where = f" {self._glyphs.rule} GPU {gpus}" if gpus else ""
        words = f" {verb} {self._about.label} adjusted {self._glyphs.rule} {rest}{where}"
        self.query_one("#adjust-title", TextLine).show(Content.styled(plain(words), "bold"))

    def _show_rows(self) -> None:
        if self._sheet is not None:
            search = self.query_one("#search", Input)
            answer = self._answered
            budget = answer.budget if answer is not None else self._last
            self._last = budget  # kept while the next one is worked out: nothing flickers
            rows = flag_rows(self._sheet, self._about.edit, search.value if search.display else "", budget)
            self.query_one(FlagList).show_rows(rows)

    def _show_offers(self) -> None:
        """What its log or its live figures suggest, while the keys are for that."""
        lines = [
            Content.assemble((f"{number}  ", "bold $primary"), self._glyphs.plain(describe_change(offer)))
            for number, offer in enumerate(self._offers, 1)
        ]
        shown = bool(lines) and self._answered is not None and self._proposals is self._offers
        head = Content.styled("what would help", "$quiet")
        self.query_one("#offers", TextLine).show(Content("\n").join([head, *lines]) if shown else Content())

    def _show_difference(self) -> None:
        box = self.query_one("#difference")
        width = box.scrollable_content_region.width
        if self._sheet is not None and width:
            lines = diff_lines(self._difference(self._sheet), width, self._glyphs, whole=self._is_whole)
            box.query_one(TextLines).show(lines)

    def _difference(self, sheet: FlagSheet) -> tuple[DiffLine, ...]:
        after = [word for given in edited_flags(sheet, self._about.edit) for word in given.typed]
        return diff_words(sheet.words, after, sheet.inventory)

    def _show_elsewhere(self) -> None:
        width = self.query_one("#outcome").size.width - 2
        lines = choices_sentence(self._choices, width, self._glyphs) if width > 0 else []
        self.query_one("#elsewhere", TextLine).show(Content("\n").join(lines))

    @property
    def _answered(self) -> BudgetAnswer | None:
        """The budget of what stands here, where it is there."""
        answer = self.budget
        return answer if answer is not None and self._asked is not None and answer.question == self._asked else None

    def _plan(self) -> None:
        """Ask what this takes, unless that was asked already."""
        if self._sheet is None or self.snapshot is None or self._trouble() is not None:
            return
        about = self._about
        question = self._question(about, self.snapshot)
        self.query_one(BudgetPanel).ask(about.label, question, "")
        if question != self._asked:
            self._asked = question
            self._is_waiting = True
            if self._answered is not None:  # as by the launch form: the same answer again would be no news
                self.watch_budget()
                return
            self.app.post_message(BudgetAsked(replace(question, in_steps=bool(about.edit))))

    def _question(self, about: Editable, snapshot: Snapshot) -> BudgetQuestion:
        if isinstance(about, Adjusted):
            return ask_about_adjusted(about, snapshot)
        return ask_about_request(about, snapshot)

    def _compare(self) -> None:
        """Once it has settled, ask what other GPUs would make of it."""
        if self.snapshot is None or not self.has_proposals or len(self.snapshot.gpus.gpus) <= 1:
            return
        about = replace(self._comparable, gpus=None)
        question = self._question(about, self.snapshot)
        if question != self._compared:
            self._compared = question
            self.app.post_message(GpuChoicesAsked(about, self.snapshot.gpus, self))

    @property
    def _comparable(self) -> Editable:
        """What GPUs are compared for."""
        return self._about

    def _answer(self, content: Content) -> None:
        self.query_one("#answer", TextLine).show(content)
