"""A field of one line in a place of fixed size: what is typed in it moves nothing."""

from __future__ import annotations

from collections.abc import Callable

from textual.geometry import Region
from textual.widgets import Input

from tui.app.command import Command


class ValueInput(Input):
    """An `Input` without the new layout of the whole screen that Textual makes at each key.

    Args:
        typed: called when the value changes, before anything of that is painted.
        commands: what can be done while it has the keys, for those who tell them.
    """

    def __init__(
        self,
        typed: Callable[[], None],
        commands: tuple[Command, ...],
        *,
        id: str,  # noqa: A002 Textual's own name
        placeholder: str = "",
    ) -> None:
        super().__init__(id=id, placeholder=placeholder, compact=True)
        self.cursor_blink = False
        self.COMMAND_LIST = commands
        self._typed = typed

    def watch_value(self) -> None:
        """Another value; its message comes later."""
        self._typed()

    def refresh(
        self, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False
    ) -> ValueInput:
        """Its size never follows from its value."""
        del layout
        super().refresh(*regions, repaint=repaint, layout=False, recompose=recompose)
        return self
