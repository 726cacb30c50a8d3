"""What if: the flags of a launch on one side, what they take on the other; each key typed plans it again."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from textual import on
from textual.binding import BindingType
from textual.content import Content
from textual.widgets import Input

from tui.app.command import READ_ONLY, Command, bindings
from tui.app.commands.flags import CHOOSE_GPUS, FLAG_EDITOR, GO, PROPOSALS, SEARCH_FLAGS, UNDO, WHOLE_COMMAND
from tui.app.core import Adjusted, Editable
from tui.app.flag_edits import changed_flag, with_change, with_gpus, with_value
from tui.app.flag_rows import FlagRow, value_words
from tui.app.glyphs import Glyphs
from tui.app.keys_line import keys_line
from tui.app.messages import LaunchWanted, RelaunchWanted
from tui.app.moving import move
from tui.app.notices import Trouble
from tui.app.screens.adjust_view import AdjustView
from tui.app.screens.launch import trouble_content
from tui.app.widgets.budget_panel import BudgetPanel
from tui.app.widgets.flag_list import FlagList
from tui.app.widgets.gpu_chooser import GpuChooser
from tui.app.widgets.text_line import TextLine
from tui.budget.types import FlagChange
from tui.diagnosis.diagnosis import Change
from tui.launch.gpu_choices import GpuChoice

_WIDE_FROM = 100


class AdjustScreen(AdjustView):
    """Asks by `RelaunchWanted`, and is told by `say_launching`, `refuse` and `close` what came of it."""

    AUTO_FOCUS = ""
    COMMAND_LIST = FLAG_EDITOR
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(FLAG_EDITOR)]
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (_WIDE_FROM, "-wide")]  # noqa: RUF012 Textual declares the type

    def __init__(self, about: Editable, glyphs: Glyphs, *, read_only: bool, offers: tuple[Change, ...] = ()) -> None:
        super().__init__(about, glyphs, offers)
        self._read_only = read_only
        self._edited: FlagRow | None = None  # whose value is being typed
        self._before: Editable | None = None  # while something is typed or chosen: what Esc goes back to
        self._is_wanted = False

    def say_launching(self, request: Editable) -> None:
        """It has begun."""
        self._answer(Content(f"{self._glyphs.ellipsis} launching {self._glyphs.plain(request.label)}"))

    def refuse(self, trouble: Trouble) -> None:
        """It wasn't launched; everything stays as it is."""
        self._is_wanted = False
        self._answer(trouble_content(trouble, self._glyphs))
        self._show_keys()

    def close(self) -> None:
        """It is launched."""
        if self.app.screen is self:
            self.dismiss()

    # --- keys

    def is_idle(self, command: Command) -> bool:
        """What a key would do to nothing: it is left out of the line of keys, and of the help."""
        if command in PROPOSALS:
            return PROPOSALS.index(command) not in self._takeable
        if command is UNDO:
            row = self.query_one(FlagList).row
            return row is None or (row.value is None and row.was is None)
        if command is GO and self._is_wanted:
            return True
        return self._sheet is None and command in (GO, CHOOSE_GPUS, SEARCH_FLAGS, WHOLE_COMMAND)

    def on_resize(self) -> None:
        """As many keys as have room."""
        self._show_keys()

    def on_descendant_focus(self) -> None:
        """Other keys do something now."""
        self._show_keys()

    def watch_budget(self) -> None:
        """Other changes are proposed."""
        super().watch_budget()
        self._renew_keys()

    def _show_about(self, about: Editable) -> None:
        super()._show_about(about)
        self._renew_keys()

    def _renew_keys(self) -> None:
        """What is known has changed; while something is typed, that makes no difference to the keys."""
        if not isinstance(self.focused, Input):
            self._show_keys()

    def _show_keys(self) -> None:
        line = keys_line(self, self.size.width - 2)
        self.query_one("#adjust-keys", TextLine).show(Content.assemble(" ", line))

    @property
    def _takeable(self) -> tuple[int, ...]:
        """Places of the proposals that a key can make; it can't install another SGLang."""
        if not self.has_proposals:
            return ()
        return tuple(place for place, change in enumerate(self._proposals) if change.upgrade is None)

    async def action_move(self, direction: str) -> None:
        """In what has the keys."""
        if self.focused is not None:
            await move(self.focused, direction)

    def action_back(self) -> None:
        """Out of the field, out of the search, out of here."""
        if self._before is not None:
            self._show_about(self._before)
            self._end_typing()
        elif self._is_whole:
            self.action_command()
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
        if row is None or self.is_idle(UNDO):
            return
        edit = self._about.edit
        self._edit(edit.forgetting(row.name) if row.was is not None else edit.unsetting(row.name))

    def action_command(self) -> None:
        """The whole command with what changes in it, in the place of the budget where there is no room for both."""
        self._is_whole = not self._is_whole
        self.set_class(self._is_whole, "-whole")
        self._show_difference()
        (self.query_one("#difference") if self._is_whole else self.query_one(FlagList)).focus()

    def action_take(self, number: int) -> None:
        """Make one of the changes that the budget proposes."""
        answer = self._answered
        if answer is None:
            self._answer(Content("it isn't planned yet: press it again when the budget is there"))
            return
        if answer.lacks_changes:
            self._answer(Content("what would fit is still looked for: press it again when that is there"))
            return
        changes = self._proposals
        if number > len(changes):
            self._answer(Content(f"no change {number} is proposed"))
        elif (release := changes[number - 1].upgrade) is not None:
            self._answer(Content(f"for that, SGLang {release} or later has to be installed"))
        else:
            self._make(changes[number - 1])

    def _make(self, change: FlagChange | Change) -> None:
        """The cursor goes where it shows."""
        if self._sheet is not None:
            inventory = self._sheet.inventory
            self._end_search()
            self._edit(with_change(self._about.edit, change, inventory))
            self.query_one(FlagList).go_to(changed_flag(change, inventory))

    def action_go(self) -> None:
        """Relaunch with what stands here, unless a value can't be meant."""
        wrong = READ_ONLY if self._read_only else self._trouble()
        if wrong is not None:
            self.refuse(Trouble(wrong))
        elif self._sheet is not None and not self._is_wanted:
            self._is_wanted = True
            self._show_keys()
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
            self._before = self._about
            chooser = self.query_one(GpuChooser)
            chooser.show_choices(self._choices, self._no_choice)
            chooser.display = True
            self.set_focus(chooser)

    @on(GpuChooser.Pointed)
    def _gpus_pointed(self, event: GpuChooser.Pointed) -> None:
        """Plan with these."""
        event.stop()
        self._take_gpus(event.choice)

    @on(GpuChooser.Chosen)
    def _gpus_chosen(self, event: GpuChooser.Chosen) -> None:
        """Keep these."""
        event.stop()
        self._take_gpus(event.choice)
        self._end_typing()

    @on(GpuChooser.Typed)
    def _gpus_typed(self, event: GpuChooser.Typed) -> None:
        """Others, by hand."""
        event.stop()
        before = self._before
        if before is not None:
            self.query_one(GpuChooser).display = False
            self._show_about(before)
            self._type("GPUs like 0,1; nothing leaves the choice", event.text, is_begun=True)
            self._show_about(replace(before, gpus=event.text))

    def _take_gpus(self, choice: GpuChoice) -> None:
        if self._before is not None and self._sheet is not None:
            self._show_about(with_gpus(self._before, choice, self._sheet.inventory))

    @property
    def _comparable(self) -> Editable:
        """GPUs that are only pointed at aren't compared with those that could be had instead of them."""
        is_choosing = self._before is not None and self.query_one(GpuChooser).display
        return self._before if is_choosing and self._before is not None else self._about

    def _type(self, hint: str, text: str, *, is_begun: bool = False) -> None:
        """Open the field; what was begun in it goes on at its end, what stood there before is typed over."""
        self._before = self._about
        box = self.query_one("#value", Input)
        box.placeholder = hint
        with box.prevent(Input.Changed):
            box.value = text
        box.select_on_focus = not is_begun
        box.cursor_position = len(text)
        box.display = True
        self.set_focus(box)  # at once, and not by `focus`, which waits: what is typed ahead is meant for it

    @on(Input.Changed, "#value")
    def _typed(self, event: Input.Changed) -> None:
        """Plan with what stands there; the key and its budget are painted together, unless that takes long."""
        event.stop()
        if self._before is not None and self._edited is not None:
            self._edit(with_value(self._before.edit, self._edited, event.value))
        elif self._before is not None:
            self._show_about(replace(self._before, gpus=event.value.strip() or None))
        if not self._is_waiting:
            self._frame.release()

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
        self._frame.release()

    @on(Input.Submitted, "#search")
    def _found(self, event: Input.Submitted) -> None:
        """To the list; an Enter that was typed ahead picks what is found."""
        event.stop()
        flags = self.query_one(FlagList)
        if flags.has_focus:
            flags.action_pick()
        else:
            self.set_focus(flags)

    @on(FlagList.Pointed)
    def _pointed(self, event: FlagList.Pointed) -> None:
        event.stop()
        flag = event.row.flag
        words = "" if flag is None else f"--{flag.name}: {value_words(flag)}"
        if flag is not None and flag.help:
            words += f". {flag.help}"
        self.query_one("#flag-help", TextLine).show(Content.styled(self._glyphs.plain(words), "$quiet"))
        self._show_keys()

    def _end_typing(self) -> None:
        name = self._edited.name if self._edited is not None else None
        self._edited = self._before = None
        self.query_one("#value", Input).display = False
        self.query_one(GpuChooser).display = False
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
