"""A list of the GPUs that a launch could be given; the one under the cursor is planned as if it were taken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import events, on
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from tui.app.command import Command
from tui.app.commands.flags import GPU_CHOICES
from tui.app.glyphs import Glyphs
from tui.app.gpu_words import CHOICE_KEYS, choice_line, choice_name
from tui.launch.gpu_choices import GpuChoice, JudgedChoice


class GpuChooser(OptionList, inherit_bindings=False):
    """Takes one by its letter, or by Enter; a digit begins to name GPUs by hand."""

    COMMAND_LIST = GPU_CHOICES
    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "select", show=False)]

    @dataclass
    class Pointed(Message):
        """The cursor is on this one."""

        choice: GpuChoice

    @dataclass
    class Chosen(Message):
        """This one is taken."""

        choice: GpuChoice

    @dataclass
    class Typed(Message):
        """Others are to be named by hand; so far this was typed."""

        text: str

    def __init__(self, glyphs: Glyphs) -> None:
        super().__init__(id="gpu-chooser", compact=True)
        self._glyphs = glyphs
        self._choices: tuple[JudgedChoice, ...] = ()

    def show_choices(self, choices: Sequence[JudgedChoice], absent: str) -> None:
        """Show these; without any, the words for why there are none. The cursor stays where it is."""
        here = self.highlighted
        self._choices = tuple(choices)[: len(CHOICE_KEYS)]
        width = max((len(choice_name(one.choice)) for one in self._choices), default=0)
        lines = [choice_line(*pair, width, self._glyphs) for pair in zip(CHOICE_KEYS, self._choices, strict=False)]
        with self.prevent(OptionList.OptionHighlighted):
            self.clear_options()
            self.add_options(
                [Option(line) for line in lines] or [Option(Content.styled(absent, "$quiet"), disabled=True)]
            )
            self.highlighted = here if here is not None and here < len(lines) else None

    def is_idle(self, command: Command) -> bool:
        """There is nothing to take."""
        return command in GPU_CHOICES and not self._choices

    def check_consume_key(self, key: str, character: str | None) -> bool:
        """A letter takes one, a digit begins a list of GPUs: whatever else these keys do on the screen, not here."""
        del key
        return character is not None and (self._lettered(character) is not None or character.isdecimal())

    def on_key(self, event: events.Key) -> None:
        """What it takes goes no further."""
        typed = event.character
        if typed is None or not self.check_consume_key(event.key, typed):
            return
        event.stop()
        event.prevent_default()
        found = self._lettered(typed)
        self.post_message(self.Typed(typed) if found is None else self.Chosen(found))

    def _lettered(self, typed: str) -> GpuChoice | None:
        """The one that has this letter."""
        place = CHOICE_KEYS.find(typed) if len(typed) == 1 else -1
        return self._choices[place].choice if 0 <= place < len(self._choices) else None

    @on(OptionList.OptionHighlighted)
    def _highlighted(self, event: OptionList.OptionHighlighted) -> None:
        event.stop()
        if event.option_index < len(self._choices):
            self.post_message(self.Pointed(self._choices[event.option_index].choice))

    @on(OptionList.OptionSelected)
    def _selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        if event.option_index < len(self._choices):
            self.post_message(self.Chosen(self._choices[event.option_index].choice))
