"""Lines of text of which only those are painted again that read differently."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from textual.content import Content
from textual.css.styles import RulesMap
from textual.geometry import Region, Size
from textual.selection import Selection
from textual.strip import Strip
from textual.style import Style
from textual.visual import RenderOptions
from textual.widget import Widget

_NOTHING = Content()
_RULES: RulesMap = {"text_wrap": "nowrap"}


class TextLines(Widget):
    """Shows lines that were wrapped to its width already; fills at least what contains it.

    A `TextLine` of many lines is rendered and sent to the terminal as a whole at each change, and its number of lines
    makes a new layout of the screen. Here a layout is made only where the lines are more than the room for them.
    """

    DEFAULT_CSS = """
    TextLines { width: 1fr; height: auto; min-height: 100%; text-wrap: nowrap; }
    """
    ALLOW_SELECT = True

    def __init__(self) -> None:
        super().__init__()
        self._lines: tuple[Content, ...] = ()
        self._selection: Selection | None = None

    def show(self, lines: Sequence[Content]) -> None:
        """Show these."""
        old, self._lines = self._lines, tuple(lines)
        if max(len(self._lines), self._room) != self.size.height:
            self.refresh(layout=True)
            return
        pairs = enumerate(zip_longest(old, self._lines, fillvalue=_NOTHING))
        changed = [y for y, (before, now) in pairs if not before.is_same(now)]
        if changed:
            self.refresh(*(Region(0, y, self.size.width, 1) for y in changed))

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """A row a line."""
        del container, viewport, width
        return len(self._lines)

    def render_line(self, y: int) -> Strip:
        """One row, with what is selected of it."""
        width, own = self.size.width, self.visual_style
        content = self._lines[y] if y < len(self._lines) else _NOTHING
        span = self._selection.get_span(y) if self._selection is not None else None
        if span is not None:
            start, end = span
            marked = Style.from_styles(self.screen.get_component_styles("screen--selection"))
            content = content.stylize(marked, start, len(content) if end < 0 else end)
        strips = content.render_strips(width, 1, own, RenderOptions(self._get_style, _RULES)) if content else []
        strip = strips[0] if strips else Strip.blank(0, own.rich_style)
        return strip.apply_offsets(0, y).extend_cell_length(width, own.rich_style)

    def selection_updated(self, selection: Selection | None) -> None:
        """Other words are selected with the mouse."""
        self._selection = selection
        super().selection_updated(selection)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The words that a person selected with the mouse."""
        return selection.extract("\n".join(line.plain for line in self._lines)), "\n"

    @property
    def _room(self) -> int:
        return self.parent.scrollable_content_region.height if isinstance(self.parent, Widget) else 0
