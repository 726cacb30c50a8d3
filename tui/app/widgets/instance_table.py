"""The table of servers: updated by difference, so that cursor and scroll position stay where they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.style import Style
from rich.text import Text
from textual.color import Color
from textual.coordinate import Coordinate
from textual.message import Message
from textual.theme import Theme
from textual.widgets import DataTable

from tui.app.glyphs import Glyphs
from tui.app.holders import Letters
from tui.app.widgets.instance_rows import COLUMNS, Cell, Entry, Row, fitted, layout, ordered, row_of
from tui.observe import Snapshot


class InstanceTable(DataTable[Text], inherit_bindings=False):
    """One row a server, keyed by its name. Its keys are those of the screen."""

    @dataclass
    class Picked(Message):
        """Another server is selected now, or none."""

        name: str | None

    def __init__(self, glyphs: Glyphs) -> None:
        super().__init__(cursor_type="row", cursor_foreground_priority="renderable", zebra_stripes=False)
        self._glyphs = glyphs
        self._entries: Sequence[Entry] = ()
        self._gpu_indices: dict[str, int] = {}
        self._letters: Letters = {}
        self._drawn: dict[str, tuple[Cell, ...]] = {}
        self._widths: dict[str, int] = {}
        self._wanted: str | None = None
        self._is_drawing = False
        self.selected: str | None = None

    def show(self, snapshot: Snapshot, letters: Letters) -> None:
        """Show these servers; the selected one stays selected as long as it is there."""
        self._entries = ordered(snapshot)
        self._gpu_indices = {gpu.uuid: gpu.index for gpu in snapshot.gpus.gpus}
        self._letters = letters
        self._draw()

    def select(self, name: str) -> None:
        """Select this server, now or as soon as it appears."""
        self._wanted = name
        self._draw()

    def on_mount(self) -> None:
        """Colours come from the theme, so another theme means other cells."""
        self.app.theme_changed_signal.subscribe(self, self._repaint)

    def on_resize(self) -> None:
        """The last word takes the room that is left."""
        self._draw()

    def on_show(self) -> None:
        """Seen again, perhaps in its old size."""
        self.redraw()

    def redraw(self) -> None:
        """Draw the rows that came while it was hidden: they had no room."""
        self._draw()

    def on_data_table_row_highlighted(self, event: DataTable.RowHighlighted) -> None:
        """The pointer follows the cursor."""
        event.stop()
        self._draw()

    def watch_cursor_coordinate(self, old_coordinate: Coordinate, new_coordinate: Coordinate) -> None:
        """A person moved the cursor: known at once, so that a snapshot in between can't move it back."""
        super().watch_cursor_coordinate(old_coordinate, new_coordinate)
        if not self._is_drawing:
            self._pick(self._name_at_cursor())

    def _draw(self) -> None:
        if width := self.scrollable_content_region.width:
            self._settle_selection()
            self._is_drawing = True
            self._draw_rows(width)
            self._is_drawing = False

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
        cells = {name: fitted(row, widths, self._glyphs) for name, row in rows.items()}
        with self.prevent(DataTable.RowHighlighted):
            if widths != self._widths:
                self._rebuild(widths)
            self._update(cells)
            if self.selected is not None and (index := self.get_row_index(self.selected)) != self.cursor_row:
                self.move_cursor(row=index)

    def _row(self, one: Entry) -> Row:
        return row_of(one, self._gpu_indices, self._letters, self._glyphs, selected=one.name == self.selected)

    def _rebuild(self, widths: dict[str, int]) -> None:
        self.clear(columns=True)
        self._widths, self._drawn = widths, {}
        for column in COLUMNS:
            if (cells := widths.get(column.key)) is not None:
                header = column.header.rjust(cells) if column.right else column.header
                self.add_column(Text(header), width=cells, key=column.key)

    def _update(self, cells: dict[str, tuple[Cell, ...]]) -> None:
        for name in self._drawn.keys() - cells.keys():
            self.remove_row(name)
        kept = [name for name in self._drawn if name in cells]
        if kept != list(cells)[: len(kept)]:  # another order, or a newcomer that isn't last: rare
            self.clear()
            self._drawn = {}
        for name, row in cells.items():
            self._update_row(name, row, self._drawn.get(name))
        self._drawn = cells

    def _update_row(self, name: str, row: tuple[Cell, ...], drawn: tuple[Cell, ...] | None) -> None:
        if drawn is None:
            self.add_row(*map(self._text, row), key=name)
            return
        for key, cell, old in zip(self._widths, row, drawn, strict=True):
            if cell != old:
                self.update_cell(name, key, self._text(cell))

    def _neighbour(self) -> str | None:
        """Who takes the place of a selected server that is gone: whoever is in its line now."""
        if not self._entries:
            return None
        return self._entries[min(self.cursor_row, len(self._entries) - 1)].name

    def _name_at_cursor(self) -> str | None:
        names = [one.name for one in self._entries]
        return names[self.cursor_row] if self.cursor_row < len(names) else None

    def _pick(self, name: str | None) -> None:
        if name != self.selected:
            self.selected = name
            self.post_message(self.Picked(name))

    def _text(self, cell: Cell) -> Text:
        return Text(cell.text, style=self._style(cell.style), no_wrap=True, end="")

    def _style(self, style: str) -> Style:
        """A theme variable as the Rich style that table cells take."""
        if not style:
            return Style.null()
        return Style(color=Color.parse(self.app.theme_variables[style.removeprefix("$")]).rich_color)

    def _repaint(self, _theme: Theme) -> None:
        self._widths = {}
        self._draw()
