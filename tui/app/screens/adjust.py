"""What if: the flags of a launch on one side, what they take on the other; each key typed plans it again."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.reactive import var
from textual.screen import Screen
from textual.widgets import Input

from tui.app.budgets import BudgetAnswer, BudgetQuestion, ask_about_adjusted, ask_about_request
from tui.app.command import READ_ONLY, bindings
from tui.app.commands.flags import FLAG_EDITOR, FLAG_LIST
from tui.app.core import Adjusted, Editable, FlagSheet
from tui.app.flag_edits import with_change, with_value
from tui.app.flag_rows import FlagRow, edited_flags, flag_rows, trouble_with, value_words
from tui.app.glyphs import Glyphs
from tui.app.keys import keys_of
from tui.app.keys_line import keys_line
from tui.app.messages import BudgetAsked, LaunchWanted, RelaunchWanted
from tui.app.moving import move
from tui.app.notices import Trouble
from tui.app.screens.launch import trouble_content
from tui.app.widgets.budget_panel import BudgetPanel
from tui.app.widgets.budget_words import MOST_CHANGES
from tui.app.widgets.diff_lines import diff_lines
from tui.app.widgets.flag_list import FlagList
from tui.app.widgets.text_line import TextLine
from tui.budget.types import FlagChange, MemoryBudget
from tui.diagnosis.diagnosis import Change
from tui.diagnosis.words import describe_change
from tui.errors import UsageError
from tui.launch.spec import parse_gpus
from tui.observe import Snapshot
from tui.sglang.edit import DiffLine, FlagEdit, diff_words

_WIDE_FROM = 100


class AdjustScreen(Screen[None]):
    """Asks by `RelaunchWanted`, and is told by `say_launching`, `refuse` and `close` what came of it."""

    AUTO_FOCUS = ""
    COMMAND_LIST = FLAG_EDITOR
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(FLAG_EDITOR)]
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (_WIDE_FROM, "-wide")]  # noqa: RUF012 Textual declares the type

    snapshot: var[Snapshot | None] = var(None, init=False)
    budget: var[BudgetAnswer | None] = var(None, init=False)

    def __init__(self, about: Editable, glyphs: Glyphs, *, read_only: bool, offers: tuple[Change, ...] = ()) -> None:
        super().__init__(classes="-ascii" if glyphs.ascii_only else None)
        self._about = about
        self._glyphs = glyphs
        self._read_only = read_only
        self._offers = offers[:MOST_CHANGES]  # by the diagnosis of the log, for when the plan has nothing to propose
        self._sheet: FlagSheet | None = None
        self._asked: BudgetQuestion | None = None
        self._edited: FlagRow | None = None  # whose value is being typed
        self._before: Editable | None = None  # while something is typed: what Esc goes back to
        self._planned: MemoryBudget | None = None
        self._is_whole = False
        self._is_wanted = False

    def compose(self) -> ComposeResult:
        """Title, the two sides, what is said, and the keys."""
        yield TextLine(id="adjust-title")
        with Horizontal(id="sides"):
            with Vertical(id="editor", classes="panel") as editor:
                editor.border_title = Content(" Flags ")
                yield TextLine(id="offers")
                yield Input(id="search", placeholder="part of a flag's name", compact=True)
                yield FlagList(self._glyphs)
                yield TextLine(id="flag-help")
                yield Input(id="value", compact=True)
            with Vertical(id="outcome"):
                yield BudgetPanel(self._glyphs, id="budget", classes="panel")
                with VerticalScroll(id="difference", classes="panel") as difference:
                    difference.border_title = Content(" What changes ")
                    yield TextLine()
        yield TextLine(id="answer")
        yield TextLine(id="adjust-keys")

    def on_mount(self) -> None:
        """Until the flags are read."""
        for box in self.query(Input):
            box.cursor_blink = False
            box.display = False
        self.query_one(FlagList).focus()
        self._show_title()

    def fill(self, sheet: FlagSheet) -> None:
        """The flags are read; a second time when the installation has told its own. What was changed stays."""
        if not self.is_attached:  # it was left
            return
        self._sheet = sheet
        self._show_title()
        self._edit(self._about.edit)

    def say_launching(self, request: Editable) -> None:
        """It has begun."""
        self._answer(Content(f"{self._glyphs.ellipsis} launching {self._glyphs.plain(request.label)}"))

    def refuse(self, trouble: Trouble) -> None:
        """It wasn't launched; everything stays as it is."""
        self._is_wanted = False
        self._answer(trouble_content(trouble, self._glyphs))

    def close(self) -> None:
        """It is launched."""
        if self.app.screen is self:
            self.dismiss()

    # --- keys

    async def action_move(self, direction: str) -> None:
        """In what has the keys."""
        if self.focused is not None:
            await move(self.focused, direction)

    def action_back(self) -> None:
        """Out of the field, out of the search, out of here."""
        if self._before is not None:
            self._show_about(self._before)
            self._end_typing()
        elif self.query_one("#search", Input).display:
            self._end_search()
        else:
            self.dismiss()

    def action_search(self) -> None:
        """Look for a flag among all that the release has."""
        box = self.query_one("#search", Input)
        box.display = True
        self.set_focus(box)  # at once, and not by `focus`, which waits: what is typed ahead is meant for it

    def action_undo(self) -> None:
        """Undo what was changed about the flag, or leave it out."""
        row = self.query_one(FlagList).row
        if row is None or row.flag is None:
            return
        edit = self._about.edit
        self._edit(edit.forgetting(row.name) if row.was is not None else edit.unsetting(row.name))

    def action_command(self) -> None:
        """All flags of the comparison, or only what changes."""
        self._is_whole = not self._is_whole
        self._show_difference()

    def action_take(self, number: int) -> None:
        """Make one of the changes that the budget proposes."""
        answer = self._answered
        if answer is None:
            self._answer(Content("it isn't planned yet: press it again when the budget is there"))
            return
        changes = self._proposals
        if number > len(changes):
            self._answer(Content(f"no change {number} is proposed"))
        elif (release := changes[number - 1].upgrade) is not None:
            self._answer(Content(f"for that, SGLang {release} or later has to be installed"))
        else:
            self._edit(with_change(self._about.edit, changes[number - 1]))

    @property
    def _proposals(self) -> tuple[FlagChange | Change, ...]:
        """What the keys 1 to 3 take: the plan's changes; where it has none, what the log's diagnosis suggests.

        Once something was changed, the log speaks of another launch.
        """
        budget = self._answered.budget if self._answered is not None else None
        planned = budget.changes[:MOST_CHANGES] if budget is not None else ()
        return planned if planned or self._about.edit else self._offers

    def action_go(self) -> None:
        """Relaunch with what stands here, unless a value can't be meant."""
        wrong = READ_ONLY if self._read_only else self._trouble()
        if wrong is not None:
            self.refuse(Trouble(wrong))
        elif self._sheet is not None and not self._is_wanted:
            self._is_wanted = True
            about = self._about
            wanted = RelaunchWanted(about, self) if isinstance(about, Adjusted) else LaunchWanted(about, self)
            self.post_message(wanted)

    def action_other_side(self) -> None:
        """To the budget, and back."""
        flags = self.query_one(FlagList)
        (self.query_one(BudgetPanel) if flags.has_focus else flags).focus()

    # --- typing

    @on(FlagList.Picked)
    def _picked(self, event: FlagList.Picked) -> None:
        """Switch it, or ask for its value."""
        event.stop()
        row = event.row
        if row.flag is not None and row.flag.is_switch:
            edit = self._about.edit
            if row.was is not None:
                self._edit(edit.forgetting(row.name))
            else:
                self._edit(edit.setting(row.name) if row.value is None else edit.unsetting(row.name))
            return
        self._edited = row
        self._type(row.name, row.value or "")

    def action_gpus(self) -> None:
        """Choose other GPUs."""
        if self._sheet is not None:
            self._type("GPUs like 0,1; nothing leaves the choice", self._about.gpus or self._sheet.gpus)

    def _type(self, hint: str, text: str) -> None:
        """Open the field."""
        self._before = self._about
        box = self.query_one("#value", Input)
        box.placeholder = hint
        with box.prevent(Input.Changed):
            box.value = text
        box.display = True
        self.set_focus(box)  # at once, and not by `focus`, which waits: what is typed ahead is meant for it

    @on(Input.Changed, "#value")
    def _typed(self, event: Input.Changed) -> None:
        """Plan with what stands there."""
        event.stop()
        if self._before is None:
            return
        if self._edited is not None:
            self._edit(with_value(self._before.edit, self._edited, event.value))
        else:
            self._show_about(replace(self._before, gpus=event.value.strip() or None))

    @on(Input.Submitted, "#value")
    def _entered(self, event: Input.Submitted) -> None:
        """Keep it, if the release takes it."""
        event.stop()
        wrong = self._trouble()
        if wrong is not None:
            self._answer(trouble_content(Trouble(wrong), self._glyphs))
            return
        self._end_typing()

    @on(Input.Changed, "#search")
    def _searched(self, event: Input.Changed) -> None:
        event.stop()
        self._show_rows()

    @on(Input.Submitted, "#search")
    def _found(self, event: Input.Submitted) -> None:
        event.stop()
        self.query_one(FlagList).focus()

    @on(FlagList.Pointed)
    def _pointed(self, event: FlagList.Pointed) -> None:
        event.stop()
        flag = event.row.flag
        words = "" if flag is None else f"--{flag.name}: {value_words(flag)}"
        if flag is not None and flag.help:
            words += f". {flag.help}"
        self.query_one("#flag-help", TextLine).show(Content.styled(self._glyphs.plain(words), "$quiet"))

    def _end_typing(self) -> None:
        name = self._edited.name if self._edited is not None else None
        self._edited = self._before = None
        self.query_one("#value", Input).display = False
        flags = self.query_one(FlagList)
        flags.focus()
        if self.query_one("#search", Input).display:
            self._end_search()
        if name is not None:
            flags.go_to(name)

    def _end_search(self) -> None:
        box = self.query_one("#search", Input)
        box.display = False
        with box.prevent(Input.Changed):
            box.value = ""
        self._show_rows()
        self.query_one(FlagList).focus()

    # --- showing

    def watch_snapshot(self) -> None:
        """Others hold more or less memory now."""
        self._plan()

    def watch_budget(self) -> None:
        """A budget is there."""
        if self.budget is not None:
            self.query_one(BudgetPanel).answer(self.budget)
            self._show_rows()
            self._show_offers()

    def on_resize(self) -> None:
        """Other widths."""
        commands = (*FLAG_LIST, *FLAG_EDITOR)
        line = keys_line(commands, keys_of(self), self.size.width - 2, read_only=self._read_only)
        self.query_one("#adjust-keys", TextLine).show(Content.styled(f" {line}", "$quiet"))
        self.call_after_refresh(self._show_difference)

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
            budget = answer.budget if answer is not None else self._planned
            self._planned = budget  # kept while the next one is worked out: nothing flickers
            rows = flag_rows(self._sheet, self._about.edit, search.value if search.display else "", budget)
            self.query_one(FlagList).show_rows(rows)

    def _show_offers(self) -> None:
        """What the log suggests, while the keys are for that."""
        lines = [
            Content.assemble((f"{number}  ", "bold $primary"), self._glyphs.plain(describe_change(offer)))
            for number, offer in enumerate(self._offers, 1)
        ]
        shown = bool(lines) and self._answered is not None and self._proposals is self._offers
        head = Content.styled("the log suggests", "$quiet")
        self.query_one("#offers", TextLine).show(Content("\n").join([head, *lines]) if shown else Content())

    def _show_difference(self) -> None:
        box = self.query_one("#difference")
        width = box.scrollable_content_region.width
        if self._sheet is not None and width:
            lines = diff_lines(self._difference(self._sheet), width, self._glyphs, whole=self._is_whole)
            box.query_one(TextLine).show(Content("\n").join(lines))

    def _difference(self, sheet: FlagSheet) -> tuple[DiffLine, ...]:
        after = [word for given in edited_flags(sheet, self._about.edit) for word in given.typed]
        return diff_words(sheet.words, after, sheet.inventory)

    @property
    def planned_edit(self) -> FlagEdit | None:
        """The edit whose budget is shown; None while the newest one is still worked out."""
        return self._about.edit if self._answered is not None else None

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
        if isinstance(about, Adjusted):
            question = ask_about_adjusted(about, self.snapshot)
        else:
            question = ask_about_request(about, self.snapshot)
        self.query_one(BudgetPanel).ask(about.label, question, "")
        if question != self._asked:
            self._asked = question
            self.post_message(BudgetAsked(question))

    def _answer(self, content: Content) -> None:
        self.query_one("#answer", TextLine).show(content)
