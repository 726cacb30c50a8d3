"""The table of servers: a cell is painted only when it reads differently, and the cursor stays on its server."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.style import Style
from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from tui.app.glyphs import Glyphs
from tui.app.holders import Letters
from tui.app.widgets.cell_pen import PADDING, color_style, draw_cells
from tui.app.widgets.instance_rows import Cell, Entry, Row, fitted, header_of, layout, ordered, row_of
from tui.app.widgets.room import inner_width
from tui.observe import Snapshot

_HEADER_LINES = 1

Cells = tuple[Cell, ...]


class InstanceTable(ScrollView, can_focus=True, inherit_bindings=False):
    """One row a server, below a header that doesn't scroll. Its keys are those of the screen.

    Attributes:
        selected: name of the server under the cursor; None: there is none.
    """

    ALLOW_SELECT = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {"instance-table--header", "instance-table--cursor"}

    @dataclass
    class Picked(Message):
        """Another server is selected now, or none."""

        name: str | None

    def __init__(self, glyphs: Glyphs) -> None:
        super().__init__()
        self.auto_links = False
        self._glyphs = glyphs
        self._entries: Sequence[Entry] = ()
        self._gpu_indices: dict[str, int] = {}
        self._letters: Letters = {}
        self._cells: dict[str, Cells] = {}
        self._widths: dict[str, int] = {}
        self._wanted: str | None = None
        self._styles: dict[str, Style] = {}
        self.selected: str | None = None

    def show(self, snapshot: Snapshot, letters: Letters) -> None:
        """Show these servers; the selected one stays selected as long as it is there."""
        self._entries = ordered(snapshot)
        self._gpu_indices = {gpu.uuid: gpu.index for gpu in snapshot.gpus.gpus}
        self._letters = letters
        self.redraw()

    def select(self, name: str) -> None:
        """Select this server, now or as soon as it appears."""
        self._wanted = name
        self.redraw()

    @property
    def cursor_row(self) -> int:
        """Which row is selected; 0 while there is none."""
        return list(self._cells).index(self.selected) if self.selected in self._cells else 0

    def on_resize(self) -> None:
        """The last word takes the room that is left."""
        self.redraw()

    def on_click(self, event: events.Click) -> None:
        """Select the row."""
        if event.y >= _HEADER_LINES:
            self._move_to(event.y - _HEADER_LINES + self.scroll_offset.y)

    def notify_style_update(self) -> None:
        """Other colours, perhaps."""
        super().notify_style_update()
        self._styles.clear()

    def action_cursor_down(self) -> None:
        """To the next server."""
        self._move_to(self.cursor_row + 1)

    def action_cursor_up(self) -> None:
        """To the one before."""
        self._move_to(self.cursor_row - 1)

    def action_page_down(self) -> None:
        """As many further as there are in view."""
        self._move_to(self.cursor_row + self._rows_in_view)

    def action_page_up(self) -> None:
        """As many back as there are in view."""
        self._move_to(self.cursor_row - self._rows_in_view)

    def action_scroll_top(self) -> None:
        """To the first."""
        self._move_to(0)

    def action_scroll_bottom(self) -> None:
        """To the last."""
        self._move_to(len(self._entries) - 1)

    def render_line(self, y: int) -> Strip:
        """The header, or a row."""
        width = self.scrollable_content_region.width
        if y < _HEADER_LINES:
            return self._strip(self._header(), width, self._component("header"))
        index = y - _HEADER_LINES + self.scroll_offset.y
        if index >= len(self._cells):
            return Strip.blank(width, self.rich_style)
        name, cells = list(self._cells.items())[index]
        return self._strip(cells, width, self._component("cursor") if name == self.selected else self.rich_style)

    def redraw(self) -> None:
        """Draw what reads differently."""
        if width := inner_width(self):
            cursor = self.cursor_row
            self._settle_selection()
            self._draw_rows(width)
            if cursor != self.cursor_row:
                self._refresh_row(cursor)
                self._refresh_row(self.cursor_row)
            self._bring_into_view()

    def _settle_selection(self) -> None:
        names = [one.name for one in self._entries]
        if self._wanted in names:
            self._pick(self._wanted)
            self._wanted = None
        elif self.selected not in names:
            self._pick(self._neighbour())

    def _draw_rows(self, width: int) -> None:
        rows = {one.name: self._row(one) for one in self._entries}
        widths = layout(list(rows.values()), width)
        before, widths_before = self._cells, self._widths
        self._cells = {name: fitted(row, widths, self._glyphs) for name, row in rows.items()}
        self._widths = widths
        self.virtual_size = Size(width, _HEADER_LINES + len(rows))
        if widths != widths_before or list(before) != list(self._cells):
            self.refresh()
            return
        for index, (old, new) in enumerate(zip(before.values(), self._cells.values(), strict=True)):
            for start, cells in self._changed(old, new):
                self.refresh(Region(start, _HEADER_LINES + index - self.scroll_offset.y, cells, 1))

    def _row(self, one: Entry) -> Row:
        return row_of(one, self._gpu_indices, self._letters, self._glyphs, selected=one.name == self.selected)

    def _changed(self, old: Cells, new: Cells) -> Iterator[tuple[int, int]]:
        """Where each cell begins that reads differently, and how wide it is."""
        start = 0
        for one, other, cells in zip(old, new, self._widths.values(), strict=True):
            if one != other:
                yield start + PADDING, cells
            start += cells + 2 * PADDING

    def _neighbour(self) -> str | None:
        """Who takes the place of a selected server that is gone: whoever is in its line now."""
        if not self._entries:
            return None
        return self._entries[min(self.cursor_row, len(self._entries) - 1)].name

    def _move_to(self, index: int) -> None:
        if self._entries:
            self._pick(self._entries[max(0, min(index, len(self._entries) - 1))].name)
            self.redraw()

    def _pick(self, name: str | None) -> None:
        if name != self.selected:
            self.selected = name
            self.post_message(self.Picked(name))

    @property
    def _rows_in_view(self) -> int:
        return max(1, self.scrollable_content_region.height - _HEADER_LINES)

    def _bring_into_view(self) -> None:
        first, last = self.scroll_offset.y, self.scroll_offset.y + self._rows_in_view - 1
        row = self.cursor_row
        if self.scrollable_content_region.height and not first <= row <= last:
            self.scroll_to(y=row if row < first else row - self._rows_in_view + 1, animate=False, immediate=True)

    def _refresh_row(self, index: int) -> None:
        self.refresh_line(_HEADER_LINES + index)

    def _header(self) -> Cells:
        return header_of(self._widths)

    def _strip(self, cells: Cells, width: int, style: Style) -> Strip:
        return draw_cells(cells, self._widths.values(), width, style, self._style)

    def _component(self, name: str) -> Style:
        if name not in self._styles:
            self._styles[name] = self.get_component_rich_style(f"instance-table--{name}")
        return self._styles[name]

    def _style(self, style: str) -> Style:
        """A theme variable as the Rich style that a strip takes."""
        if style not in self._styles:
            self._styles[style] = color_style(style, self.app.theme_variables)
        return self._styles[style]
