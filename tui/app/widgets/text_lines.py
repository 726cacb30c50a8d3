"""Lines of text of which only those are painted again that read differently."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest

from textual.content import Content
from textual.css.styles import RulesMap
from textual.geometry import Region, Size
from textual.selection import Selection
from textual.strip import Strip
from textual.style import Style
from textual.visual import RenderOptions
from textual.widget import Widget

from tui.app.widgets.row_pen import row_pen

_NOTHING = Content()
_RULES: RulesMap = {"text_wrap": "nowrap"}


class TextLines(Widget):
    """Shows lines that were wrapped to its width already.

    A `TextLine` of many lines is rendered and sent to the terminal as a whole at each change, and its number of lines
    makes a new layout of the screen. Here a layout is made only where it has to be higher or lower than it was.

    Args:
        fills: it is at least as high as what contains it; else as high as its lines.
    """

    DEFAULT_CSS = """
    TextLines { width: 1fr; height: auto; text-wrap: nowrap; }
    TextLines.-fills { min-height: 100%; }
    """
    ALLOW_SELECT = True

    def __init__(self, *, fills: bool = True) -> None:
        super().__init__(classes="-fills" if fills else None)
        self._fills = fills
        self._lines: tuple[Content, ...] = ()
        self._selection: Selection | None = None
        self._drawn: dict[int, Strip] = {}  # rows as they were painted last
        self._drawn_on: Style | None = None

    def show(self, lines: Sequence[Content]) -> None:
        """Show these."""
        old, self._lines = self._lines, tuple(lines)
        pairs = enumerate(zip_longest(old, self._lines, fillvalue=_NOTHING))
        changed = [y for y, (before, now) in pairs if not before.is_same(now)]
        for y in changed:
            self._drawn.pop(y, None)
        if max(len(self._lines), self._room) != self.size.height:
            self.refresh(layout=True)
        elif changed:
            self.refresh(*_rows(changed, self.size.width))

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """A row a line."""
        del container, viewport, width
        return len(self._lines)

    def render_lines(self, crop: Region) -> list[Strip]:
        """The rows that are painted; only those that changed are drawn. The mouse gets its own by `render_line`."""
        width, own = self.size.width, self.visual_style
        if own != self._drawn_on:  # what they lie on looks different
            self._drawn.clear()
            self._drawn_on = own
        draw = row_pen(own, self._get_style)
        ground, filters = self.background_colors[1], self.get_line_filters()
        strips = []
        for y in crop.line_range:
            strip = self._drawn.get(y)
            if strip is None or strip.cell_length != width:
                strip = self._drawn[y] = draw(self._content(y), width)
            for each in filters:
                strip = strip.apply_filter(each, ground)
            strips.append(strip if crop.width == width else strip.crop(crop.x, crop.right))
        return strips

    def render_line(self, y: int) -> Strip:
        """One row, with the place of each piece in the text, for the mouse."""
        width, own, content = self.size.width, self.visual_style, self._content(y)
        strips = content.render_strips(width, 1, own, RenderOptions(self._get_style, _RULES)) if content else []
        strip = strips[0] if strips else Strip.blank(0, own.rich_style)
        return strip.apply_offsets(0, y).extend_cell_length(width, own.rich_style)

    def notify_style_update(self) -> None:
        """Other colours."""
        self._drawn.clear()
        super().notify_style_update()

    def selection_updated(self, selection: Selection | None) -> None:
        """Other words are selected with the mouse."""
        self._selection = selection
        self._drawn.clear()
        super().selection_updated(selection)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The words that a person selected with the mouse."""
        return selection.extract("\n".join(line.plain for line in self._lines)), "\n"

    def _content(self, y: int) -> Content:
        """One row, with what is selected of it."""
        content = self._lines[y] if y < len(self._lines) else _NOTHING
        span = self._selection.get_span(y) if self._selection is not None else None
        if span is None:
            return content
        start, end = span
        marked = Style.from_styles(self.screen.get_component_styles("screen--selection"))
        return content.stylize(marked, start, len(content) if end < 0 else end)

    @property
    def _room(self) -> int:
        """Rows that it has to fill."""
        return self.parent.scrollable_content_region.height if self._fills and isinstance(self.parent, Widget) else 0


def _rows(changed: Sequence[int], width: int) -> Iterator[Region]:
    """Rows that follow each other as one region; they are in order."""
    first = last = changed[0]
    for y in changed[1:]:
        if y > last + 1:
            yield Region(0, first, width, last + 1 - first)
            first = y
        last = y
    yield Region(0, first, width, last + 1 - first)
