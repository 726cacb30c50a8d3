"""The flags of a launch as a list in which one is picked and changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.cells import cell_len
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from tui.app.flag_rows import FlagRow
from tui.app.glyphs import Glyphs

_NAME_LEAST = 12
_VALUE_LEAST = 8


class FlagList(OptionList):
    """Headings can't be picked. The cursor stays on its flag when rows come and go."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "cursor_down", "down", show=False),
        Binding("k", "cursor_up", "up", show=False),
        Binding("g", "first", "top", show=False),
        Binding("G", "last", "bottom", show=False),
    ]

    @dataclass
    class Pointed(Message):
        """The cursor is on another flag."""

        row: FlagRow

    def __init__(self, glyphs: Glyphs) -> None:
        super().__init__(id="flags")
        self._glyphs = glyphs
        self._rows: tuple[FlagRow, ...] = ()

    def show_rows(self, rows: Sequence[FlagRow]) -> None:
        """Show these."""
        if tuple(rows) == self._rows:
            return
        here = self.row
        self._rows = tuple(rows)
        self._draw()
        at = next((place for place, row in enumerate(rows) if here is not None and _same(row, here)), None)
        self.highlighted = at if at is not None else next((p for p, row in enumerate(rows) if row.flag), None)

    def go_to(self, name: str) -> None:
        """Put the cursor on a flag."""
        self.highlighted = next((p for p, row in enumerate(self._rows) if row.flag and row.name == name), None)

    @property
    def row(self) -> FlagRow | None:
        """The one under the cursor."""
        return self._rows[self.highlighted] if self.highlighted is not None and self._rows else None

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Say which flag it is."""
        event.stop()
        if self.row is not None:
            self.post_message(self.Pointed(self.row))

    def on_resize(self) -> None:
        """Other widths."""
        here = self.highlighted
        self._draw()
        self.highlighted = here

    def _draw(self) -> None:
        width = self.scrollable_content_region.width
        names = max((cell_len(row.name) for row in self._rows if row.flag), default=_NAME_LEAST)
        column = max(_NAME_LEAST, min(names, width - _VALUE_LEAST - 4))
        with self.prevent(OptionList.OptionHighlighted):
            self.set_options(Option(self._content(row, column, width), disabled=row.flag is None) for row in self._rows)

    def _content(self, row: FlagRow, column: int, width: int) -> Content:
        glyphs = self._glyphs
        if row.flag is None:
            return Content.styled(glyphs.plain(row.name), "$quiet")
        name = glyphs.fit(row.name, column).ljust(column)
        value = f"({row.settled})" if row.settled and row.value is None else glyphs.plain(row.value or "")
        if row.was is None:
            room = max(0, width - column - 3)
            return Content.assemble(f"  {name} ", (glyphs.fit(value, room), "" if row.value else "$quiet"))
        was = f"was {glyphs.plain(row.was)}" if row.was else "new"
        shown = value if row.value is not None else f"left out {value}".rstrip()
        room = max(_VALUE_LEAST, width - column - 5 - cell_len(was))
        return Content.assemble(
            ("+ " if row.value is not None else "- ", "bold $accent"),
            (f"{name} ", "bold"),
            (glyphs.fit(shown, room), "bold"),
            (f"  {was}", "$quiet"),
        )


def _same(row: FlagRow, other: FlagRow) -> bool:
    return row.flag is not None and row.name == other.name
