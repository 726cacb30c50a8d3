"""Saving a launch as a preset: a name, then what would be written, then yes."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import Input, Label

from tui.app.command import Command, bindings
from tui.app.commands.dialogues import SAVING, SHOW_THEN_SAVE
from tui.app.glyphs import Glyphs
from tui.app.keys_line import LABEL_CELLS, keys_line
from tui.app.messages import PresetDraftWanted, PresetSaveWanted
from tui.app.moving import move
from tui.app.notices import Trouble
from tui.app.screens.dialog import Dialog
from tui.app.screens.launch import trouble_content
from tui.app.widgets.scroll_box import ScrollBox
from tui.app.widgets.text_line import TextLine
from tui.observe import Instance

if TYPE_CHECKING:
    from tui.launch.preset_saving import PresetDraft  # which takes the importer and the diagnosis with it

_DIFF_STYLES = {"-": "$error", "+": "$success"}


class SavePresetScreen(Dialog[None]):
    """Asks by `PresetDraftWanted`, then `PresetSaveWanted`; nothing is written before the second Enter."""

    COMMAND_LIST = SAVING
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(SAVING)]

    def __init__(self, instance: Instance, glyphs: Glyphs) -> None:
        super().__init__(glyphs)
        self._instance = instance
        self._draft: PresetDraft | None = None
        self._is_busy = False

    def compose(self) -> ComposeResult:
        """The name above what would be saved."""
        name = self._instance.preset or self._instance.name
        with ScrollBox(classes="dialog form", can_focus=False) as box:
            box.border_title = Content(f" Save {self._glyphs.plain(self._instance.name)} as a preset ")
            with Horizontal(classes="field"):
                yield Label(Content("name"))
                field = Input(name, id="preset-name")
                field.cursor_blink = False
                yield field
            yield TextLine(id="answer")
            yield TextLine(id="draft")

    def on_resize(self) -> None:
        """As many keys as have room."""
        self._show_keys()

    def is_idle(self, command: Command) -> bool:
        """While it is drafted or saved, Enter does nothing more."""
        return command is SHOW_THEN_SAVE and self._is_busy

    def show_draft(self, draft: PresetDraft) -> None:
        """What would be written; Enter writes it."""
        if not self.is_attached:
            return
        self._is_busy, self._draft = False, draft
        self._show_keys()
        self._say(_head(draft, self._glyphs))
        self.query_one("#draft", TextLine).show(_body(draft, self._glyphs))

    def refuse(self, trouble: Trouble) -> None:
        """It can't be drafted or saved; what was typed stays."""
        if self.is_attached:
            self._forget()
            self._say(trouble_content(trouble, self._glyphs))

    def close(self) -> None:
        """It is saved."""
        if self.app.screen is self:
            self.dismiss()

    def action_leave(self) -> None:
        """Save nothing."""
        self.dismiss()

    async def action_move(self, direction: str) -> None:
        """The field has the keys, and what would be saved may be long."""
        await move(self.query_one(ScrollBox), direction)

    @on(Input.Submitted)
    def _go_on(self, event: Input.Submitted) -> None:
        event.stop()
        if self._is_busy:
            return
        self._is_busy = True
        self._show_keys()
        if self._draft is None:
            self._say(Content.styled(f"reading its records and log{self._glyphs.ellipsis}", "$quiet"))
            address = f"{self._instance.name}/{self._instance.launch}"
            self.post_message(PresetDraftWanted(address, event.value.strip(), self))
        else:
            self.post_message(PresetSaveWanted(self._draft, self))

    @on(Input.Changed)
    def _renamed(self, event: Input.Changed) -> None:
        """Another name, another file."""
        event.stop()
        if self._draft is not None:
            self._forget()
            self._say(Content())

    def _forget(self) -> None:
        self._is_busy, self._draft = False, None
        self._show_keys()
        self.query_one("#draft", TextLine).show(Content())

    def _show_keys(self) -> None:
        box = self.query_one(ScrollBox)
        line = keys_line(self, box.size.width - LABEL_CELLS)
        box.border_subtitle = Content.assemble(" ", line, " ")

    def _say(self, words: Content) -> None:
        self.query_one("#answer", TextLine).show(words)


def _head(draft: PresetDraft, glyphs: Glyphs) -> Content:
    """Which file, what becomes of the one that is there, and what a person should know."""
    path = glyphs.plain(str(draft.file.path))
    if draft.file.changes_nothing:
        first = f"{path} says the same already"
    elif draft.file.before is not None:
        first = f"{path} would be replaced; the earlier version is kept beside it"
    else:
        first = f"{path} would be written"
    notes = [Content.styled(f"{glyphs.dot} {glyphs.plain(note)}", "$quiet") for note in draft.proven.notes]
    return Content("\n").join([Content.styled(first, "bold"), *notes])


def _body(draft: PresetDraft, glyphs: Glyphs) -> Content:
    """The difference to what is there, or the whole new file."""
    if draft.file.changes_nothing:
        return Content()
    text = draft.file.text if draft.file.before is None else draft.file.diff
    lines = [glyphs.plain(line) for line in text.splitlines()]
    is_diff = draft.file.before is not None
    return Content("\n").join(
        Content.styled(line, _DIFF_STYLES.get(line[:1], "$quiet") if is_diff else "$quiet") for line in lines
    )
