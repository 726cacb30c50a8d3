"""Launching: the dialogue is there at once, and stays until the launch has begun or a person leaves it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.message_pump import MessagePump
from textual.reactive import var
from textual.widgets import Input, OptionList, Static

from tui.app.budgets import BudgetAnswer, BudgetQuestion, ask_about_request
from tui.app.command import Command, bindings
from tui.app.commands.dialogues import CHANGE_FLAGS, FORM, NEXT_FIELD, TO_THE_FIELDS
from tui.app.core import LaunchRequest
from tui.app.glyphs import Glyphs
from tui.app.keys_line import LABEL_CELLS, keys_line
from tui.app.messages import AdjustAsked, BudgetAsked, LaunchWanted
from tui.app.moving import move
from tui.app.notices import Trouble, trouble_of
from tui.app.preset_words import Judged
from tui.app.proposals import FieldError
from tui.app.screens.dialog import Dialog
from tui.app.widgets.budget_panel import BudgetPanel
from tui.app.widgets.launch_form import LaunchForm, PresetList
from tui.app.widgets.scroll_box import ScrollBox
from tui.observe import Instance, Snapshot

if TYPE_CHECKING:
    from tui.presets import Preset, PresetProblem

_HIGH_FROM_LINES = 38  # a longer list then leaves the budget its lines


class LaunchScreen(Dialog[None]):
    """Asks by `LaunchWanted`, and is told by `say_launching`, `refuse` and `close` what came of it.

    Reading the presets takes a moment; keys that are typed meanwhile are held, and act on the form when it is there.
    """

    AUTO_FOCUS = ""  # the form says where to begin
    COMMAND_LIST = FORM
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(FORM)]
    VERTICAL_BREAKPOINTS = [(0, "-low"), (_HIGH_FROM_LINES, "-high")]  # noqa: RUF012 Textual declares the type

    snapshot: var[Snapshot | None] = var(None, init=False)
    budget: var[BudgetAnswer | None] = var(None, init=False)

    def __init__(self, glyphs: Glyphs) -> None:
        super().__init__(glyphs)
        self._wondered: BudgetQuestion | None = None
        self._is_ready = False
        self._held: deque[events.Key] = deque()
        self._replayed: events.Key | None = None
        self._is_asked = False  # a launch is under way
        self._is_over = False

    def compose(self) -> ComposeResult:
        """A box that says that it is being filled."""
        with ScrollBox(classes="dialog form", can_focus=False) as box:
            box.border_title = Content(" Launch a server ")
            yield Static(Content.styled(f"reading presets{self._glyphs.ellipsis}", "$quiet"), markup=False)

    async def fill(
        self,
        presets: Sequence[Preset],
        problems: Sequence[PresetProblem],
        instances: Sequence[Instance],
        standings: Mapping[str, Judged],
    ) -> None:
        """Show the form, and do what was typed ahead."""
        if not self.is_attached:  # it was left while they were read
            return
        forms = self.query(LaunchForm)
        if forms:  # they were edited while it is open
            forms.first().renew(presets, problems, standings)
            return
        box = self.query_one(ScrollBox)
        box.query(Static).set(display=False)
        await box.mount(LaunchForm(presets, problems, instances, standings, self._glyphs))
        if presets:
            self.call_after_refresh(self._show_keys)
            box.add_class("-planned")
            await box.mount(BudgetPanel(self._glyphs, id="budget", classes="panel"))
            self._plan()
        await self._replay()
        self._is_ready = True

    def on_resize(self) -> None:
        """More or fewer keys have room."""
        self.call_after_refresh(self._show_keys)

    def on_descendant_focus(self) -> None:
        """Other keys do something now."""
        self._show_keys()

    def is_idle(self, command: Command) -> bool:
        """Without presets there is only the way out; Enter neither scrolls a budget nor launches a second time."""
        if command not in (TO_THE_FIELDS, CHANGE_FLAGS, NEXT_FIELD):
            return False
        is_enter = command is TO_THE_FIELDS
        return not self.query(PresetList) or (is_enter and (self._is_asked or isinstance(self.focused, BudgetPanel)))

    def _show_keys(self) -> None:
        box = self.query_one(ScrollBox)
        line = keys_line(self, box.outer_size.width - LABEL_CELLS)
        box.border_subtitle = Content.assemble(" ", line, " ")

    def hold(self, event: events.Key) -> bool:
        """Whether this key has to wait for the form; it is kept then."""
        if self._is_ready or event is self._replayed or event.key == "escape":
            return False
        self._held.append(event)
        return True

    def say_launching(self, request: LaunchRequest) -> None:
        """It has begun; what is typed now changes nothing about it."""
        self._answer(Content(f"{self._glyphs.ellipsis} launching {self._glyphs.plain(request.label)}"))

    def refuse(self, trouble: Trouble) -> None:
        """It wasn't launched; everything stays as it was typed."""
        self._is_asked = False
        self._show_keys()
        self._answer(trouble_content(trouble, self._glyphs))

    def close(self) -> None:
        """It is launched: nothing left to ask; a question that stands above is answered first."""
        self._is_over = True
        self._leave_when_over()

    def on_screen_resume(self) -> None:
        """What stood above is gone."""
        self._leave_when_over()

    async def action_move(self, direction: str) -> None:
        """Up and down the presets."""
        if isinstance(self.focused, OptionList | BudgetPanel):
            await move(self.focused, direction)

    def action_leave(self) -> None:
        """Launch nothing more."""
        self.dismiss()

    def action_adjust(self) -> None:
        """The flag editor takes the place of this form, with what is typed in it."""
        if self.query(PresetList) and (request := self._read()) is not None:
            self.dismiss()
            self.app.call_later(self.app.post_message, AdjustAsked(request))

    @on(Input.Submitted)
    def _submit(self) -> None:
        """Ask for it, unless a field is wrong or the same is under way: a second Enter launches nothing."""
        if not self._is_asked and (request := self._read()) is not None:
            self._is_asked = True
            self._show_keys()
            self.post_message(LaunchWanted(request, self))

    def _read(self) -> LaunchRequest | None:
        """What stands in the form; None where it is no form, or a field is wrong, which is said."""
        for form in self.query(LaunchForm):
            try:
                return form.read()
            except FieldError as error:
                form.go_to(error.field)
                self.refuse(trouble_of(error))
        return None

    @on(OptionList.OptionHighlighted)
    @on(Input.Changed, "#field-gpus")
    def _plan(self) -> None:
        """Ask what the highlighted preset takes on the chosen GPUs, unless that was asked already."""
        for panel in self.query(BudgetPanel):
            wish = self.query_one(LaunchForm).wish()
            if isinstance(wish, Trouble):
                panel.ask(None, None, self._glyphs.plain(f"{wish.what}: {wish.hint}"))
            elif self.snapshot is not None:
                self._wonder(panel, ask_about_request(wish, self.snapshot), wish.preset)

    def _wonder(self, panel: BudgetPanel, question: BudgetQuestion, preset: str) -> None:
        panel.ask(preset, question, "")
        if question != self._wondered:
            self._wondered = question
            self.post_message(BudgetAsked(question))

    def watch_snapshot(self) -> None:
        """Others hold more or less memory now."""
        self._plan()

    def watch_budget(self) -> None:
        """A budget is there."""
        if self.budget is not None:
            for panel in self.query(BudgetPanel):
                panel.answer(self.budget)

    def _leave_when_over(self) -> None:
        if self._is_over and self.app.screen is self:
            self._is_over = False
            self.dismiss()

    def _answer(self, content: Content) -> None:
        for form in self.query(LaunchForm):  # none any more when the dialogue was left
            form.answer(content)

    async def _replay(self) -> None:
        """Key by key: each may move the focus, and the next one goes to whoever has it then."""
        while self._held:
            held = self._held.popleft()
            self._replayed = events.Key(held.key, held.character)
            self.app.post_message(self._replayed)
            # From the app to the focused widget, up to the app's bindings, and what they post goes up once more.
            way_up = [*(self.focused or self).ancestors_with_self]
            for pump in (self.app, *way_up, *way_up):
                await _catch_up(pump)


async def _catch_up(pump: MessagePump) -> None:
    """Until everything has been handled that waits in this queue now."""
    passed = asyncio.Event()
    if pump.call_later(passed.set):
        await passed.wait()


def trouble_content(trouble: Trouble, glyphs: Glyphs) -> Content:
    """What was refused, and what to do about it on the next line."""
    hint = f"\n  {glyphs.plain(trouble.hint)}" if trouble.hint else ""
    return Content.assemble((f"{glyphs.problem} {glyphs.plain(trouble.what)}", "bold $error"), hint)
