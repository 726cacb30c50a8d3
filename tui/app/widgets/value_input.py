"""A field of one line in a place of fixed size: what is typed in it moves nothing."""

from __future__ import annotations

from collections.abc import Callable

from textual.geometry import Region
from textual.widgets import Input


class ValueInput(Input):
    """An `Input` without the new layout of the whole screen that Textual makes at each key.

    Args:
        typed: called when the value changes, before anything of that is painted.
    """

    def __init__(self, typed: Callable[[], None], *, id: str, placeholder: str = "") -> None:  # noqa: A002 Textual's own name
        super().__init__(id=id, placeholder=placeholder, compact=True)
        self.cursor_blink = False
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
