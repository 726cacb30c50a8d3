"""The flags of a launch as a list in which one is picked and changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.cells import cell_len
from textual import events
from textual.binding import BindingType
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from tui.app.command import Command, bindings
from tui.app.commands.flags import CHANGE, FLAG_LIST
from tui.app.flag_rows import FlagRow
from tui.app.glyphs import Glyphs
from tui.app.widgets.row_pen import row_pen
from tui.sglang.flags import Flag

_NAME_LEAST = 12
_VALUE_LEAST = 8
_STEPS = {"down": 1, "up": -1, "page-down": 10, "page-up": -10, "top": -9999, "bottom": 9999}


class FlagList(ScrollView, can_focus=True, inherit_bindings=False):
    """Draws only the rows that changed: a list of options would be laid out anew at each key that is typed.

    Headings can't be picked. The cursor stays on its flag when rows come and go.

    Attributes:
        cursor: the row that is picked; 0 while there is none.
    """

    DEFAULT_CSS = """
    FlagList { scrollbar-size-horizontal: 0; }
    """
    ALLOW_SELECT = False
    COMMAND_LIST = FLAG_LIST
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(FLAG_LIST)]

    cursor: reactive[int] = reactive(0, init=False, repaint=False)

    @dataclass
    class Pointed(Message):
        """The cursor is on another flag."""

        row: FlagRow

    @dataclass
    class Picked(Message):
        """This flag is to be changed."""

        row: FlagRow

    def __init__(self, glyphs: Glyphs) -> None:
        super().__init__(id="flags")
        self.auto_links = False  # there are none; to look for their style at each row takes longer than to draw it
        self._glyphs = glyphs
        self._rows: tuple[FlagRow, ...] = ()
        self._name_width = _NAME_LEAST
        self._pointed: Flag | None = None

    @property
    def row(self) -> FlagRow | None:
        """The one under the cursor."""
        return self._rows[self.cursor] if self.cursor < len(self._rows) and self._rows[self.cursor].flag else None

    def is_idle(self, command: Command) -> bool:
        """There is nothing to change."""
        return command is CHANGE and self.row is None

    def show_rows(self, rows: Sequence[FlagRow]) -> None:
        """Show these."""
        old, self._rows = self._rows, tuple(rows)
        if self._rows == old:
            return
        here = old[self.cursor].name if self.cursor < len(old) else None
        self.virtual_size = Size(1, len(rows))
        changed = [place for place, row in enumerate(rows) if place >= len(old) or old[place] != row]
        name_width, self._name_width = self._name_width, _name_width(rows)
        if name_width != self._name_width or len(old) != len(rows):
            self.refresh()
        else:
            for place in changed:
                self.refresh_line(place)
        self.go_to(here)

    def go_to(self, name: str | None) -> None:
        """Put the cursor on a flag; the first one where it isn't there."""
        flags = [place for place, row in enumerate(self._rows) if row.flag is not None]
        self._set_cursor(next((place for place in flags if self._rows[place].name == name), next(iter(flags), 0)))

    def action_move(self, direction: str) -> None:
        """To another flag."""
        step = _STEPS[direction]
        flags = [place for place, row in enumerate(self._rows) if row.flag is not None]
        if flags:
            at = flags.index(self.cursor) if self.cursor in flags else 0
            self._set_cursor(flags[max(0, min(at + step, len(flags) - 1))])

    def action_pick(self) -> None:
        """Change the one under the cursor."""
        if self.row is not None:
            self.post_message(self.Picked(self.row))

    def on_click(self, event: events.Click) -> None:
        """The first click goes there, one on the same flag changes it."""
        place = event.y + self.scroll_offset.y
        if place < len(self._rows) and self._rows[place].flag is not None:
            if place == self.cursor:
                self.action_pick()
            self._set_cursor(place)

    def watch_has_focus(self, _has_focus: bool) -> None:
        """The cursor looks different."""
        self._refresh_row(self.cursor)

    def render_line(self, y: int) -> Strip:
        """One row."""
        place, width = y + self.scroll_offset.y, self.scrollable_content_region.width
        if place >= len(self._rows):
            return Strip.blank(width, self.rich_style)
        content = self._content(self._rows[place], self._name_width, width).pad_right(width)
        if place == self.cursor and self.row is not None:
            content = content.stylize("bold on $block-cursor-background" if self.has_focus else "bold")
        draw = row_pen(self.visual_style, self._get_style)
        return draw(content, width)

    def _set_cursor(self, place: int) -> None:
        old, self.cursor = self.cursor, place
        if place != old:
            self._refresh_row(old)
            self._refresh_row(place)
        height = self.scrollable_content_region.height
        first = place - 1 if place and self._rows and self._rows[place - 1].flag is None else place  # with its heading
        if first < self.scroll_offset.y:
            self.scroll_to(y=first, animate=False, immediate=True)
        elif height and place >= self.scroll_offset.y + height:
            self.scroll_to(y=place - height + 1, animate=False, immediate=True)
        if self.row is not None and self.row.flag is not self._pointed:
            self._pointed = self.row.flag
            self.post_message(self.Pointed(self.row))

    def _refresh_row(self, place: int) -> None:
        self.refresh_line(place)

    def _content(self, row: FlagRow, names: int, width: int) -> Content:
        glyphs = self._glyphs
        if row.flag is None:
            return Content.styled(glyphs.plain(row.name), "$quiet")
        column = max(_NAME_LEAST, min(names, width - _VALUE_LEAST - 4))
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


def _name_width(rows: Sequence[FlagRow]) -> int:
    return max((cell_len(row.name) for row in rows if row.flag is not None), default=_NAME_LEAST)
