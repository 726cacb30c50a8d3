"""Painting the rows of a log: only the lines on the screen are read, made safe and styled."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import ClassVar

from rich.style import Style
from textual.binding import BindingType
from textual.cache import LRUCache
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from tui.app.command import bindings
from tui.app.commands.dashboard import FOLLOW
from tui.app.commands.moves import MOVES, MOVES_SIDEWAYS
from tui.app.moving import move
from tui.app.widgets.log_css import LOG_CSS
from tui.app.widgets.log_line import COMPONENTS, GUTTER_CELLS, LogLine, draw_line, draw_notice, pointed
from tui.app.widgets.log_marks import LineMarks
from tui.app.widgets.log_rows import Place, Rows, Wrapping
from tui.errors import SgltuiError
from tui.launch.explanation import Mark
from tui.logs.pattern import Pattern

_CACHED_LINES = 1000


class LogPane(ScrollView, can_focus=True, inherit_bindings=False):
    """Shows rows; which ones, and which of them are in view, is decided by `LogView`.

    Attributes:
        wrapped: lines that are too long go on in the next row, instead of to the right.
        column: first cell of the lines that is in view.
        selected: number of the line that is marked, or None.
        pattern: what is highlighted.
        marks: what a diagnosis says of lines.
        ascii: signs for a terminal without Unicode; to be set before a log is shown.
    """

    ALLOW_SELECT = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {f"log-view--{name}" for name in COMPONENTS}
    DEFAULT_CSS = LOG_CSS
    BINDINGS: ClassVar[list[BindingType]] = [*bindings((*MOVES, *MOVES_SIDEWAYS, FOLLOW))]

    wrapped: reactive[bool] = reactive(False, init=False)
    selected: reactive[int | None] = reactive(None, init=False)
    column: reactive[int] = reactive(0, init=False)

    def __init__(self, *, ascii: bool = False, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - id is Textual's name, ascii the option's
        super().__init__(id=id, classes=classes)
        self.ascii = ascii
        self.pattern: Pattern | None = None
        self.marks = LineMarks({})
        self._is_narrow = False
        self._part = 0  # screen rows of the top row that are above the screen
        self._rows = Rows()
        self._drawn: LRUCache[int, LogLine] = LRUCache(_CACHED_LINES)
        self._styles: dict[str, Style] = {}

    def render_line(self, y: int) -> Strip:
        """One row of the screen."""
        width = self.scrollable_content_region.width
        place = self._place(y)
        line = self._line(place.row) if place is not None and place.row < self._rows.count else None
        if line is None or place is None:
            return Strip.blank(width, self._style_of(""))
        if self.wrapped:
            strip = line.part(place.part, width, self._style_of(""))
        else:
            strip = line.crop(self.column, width, self._style_of(""))
        is_selected = self.selected is not None and place.row - bool(self._rows.notice) == self.selected
        return pointed(strip, self._style_of, ascii=self.ascii) if is_selected else strip

    def _place(self, y: int) -> Place | None:
        top = Place(self.scroll_offset.y, self._part)
        if not self.wrapped:
            return Place(top.row + y)
        shown = self._wrapping().screen(top, y + 1)
        return shown[y] if len(shown) > y else None

    def _wrapping(self) -> Wrapping:
        return Wrapping(self._parts_of, self._rows.count)

    def _parts_of(self, row: int) -> int:
        line = self._line(row)
        return line.parts(self.scrollable_content_region.width) if line is not None else 1

    def notify_style_update(self) -> None:
        """Other colours: draw anew. Mostly they are the same ones, as when another panel got the keys."""
        super().notify_style_update()
        before, self._styles = self._styles, {}
        if any(self._style_of(component) != style for component, style in before.items()):
            self._drawn.clear()

    async def action_move(self, direction: str) -> None:
        """Up, down, and sideways."""
        await move(self, direction)

    def action_scroll_left(self) -> None:
        """Half a screen towards the beginning of the lines."""
        self.column = max(0, self.column - (self.scrollable_content_region.width - GUTTER_CELLS) // 2)

    def action_scroll_right(self) -> None:
        """Half a screen towards the end of the longest line in view."""
        top = self.scroll_offset.y
        lines = [line for row in range(top, top + self._height) if (line := self._drawn.get(row)) is not None]
        longest, room = max((line.text.cell_length for line in lines), default=0), self.scrollable_content_region.width
        room -= GUTTER_CELLS
        self.column = max(self.column, min(self.column + room // 2, longest - room))

    def mark(self, marks: Mapping[int, Mark]) -> None:
        """What a diagnosis says of lines, by their offset."""
        if marks != self.marks.marks:
            self.marks = LineMarks(marks)
            self._drawn.clear()
            self.refresh()

    def highlight(self, pattern: Pattern | None) -> None:
        """Mark what matches."""
        self.pattern = pattern
        self._drawn.clear()
        self.refresh()

    @property
    def _height(self) -> int:
        return self.scrollable_content_region.height

    def _line(self, row: int) -> LogLine | None:
        if self._drawn.get(row) is None:
            with suppress(SgltuiError):  # the next look at the file meets it too, and shows it
                self._draw_page(min(row, self.scroll_offset.y))
        return self._drawn.get(row)

    def _draw_page(self, first: int) -> None:
        """Draw the rows of one screen that aren't drawn yet."""
        above = bool(self._rows.notice)
        if above and first == 0:
            self._drawn[0] = draw_notice(self._rows.notice, self._style_of, ascii=self.ascii)
        number = max(0, first - above)
        lines = self._rows.lines.read(number, self._height) if self._rows.lines is not None else []
        marks = self.marks.by_line(self._rows.lines) if self._rows.lines is not None and self.marks.marks else {}
        for row, line in enumerate(lines, start=number + above):
            if self._drawn.get(row) is None:
                mark = marks.get(row - above)
                self._drawn[row] = draw_line(
                    line, self._style_of, ascii=self.ascii, narrow=self._is_narrow, pattern=self.pattern, mark=mark
                )

    def _style_of(self, component: str) -> Style:
        """The style of a component, or the view's own; asked for with every row, and slow to work out."""
        if component not in self._styles:
            own = self.get_component_rich_style(f"log-view--{component}") if component else self.rich_style
            self._styles[component] = own
        return self._styles[component]
