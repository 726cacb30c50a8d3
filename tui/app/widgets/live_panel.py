"""What the selected server does, in the place of its budget: what limits it, what would help, its last hour."""

from __future__ import annotations

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content

from tui.app.advice import AdviceAnswer
from tui.app.glyphs import Glyphs
from tui.app.widgets.live_lines import live_lines
from tui.app.widgets.text_line import TextLine
from tui.observe import Instance

_FRAME_CELLS = 4  # corners and blanks that a border's title leaves
_NAME_LEAST = 10


class LivePanel(VerticalScroll, can_focus=True, inherit_bindings=False):
    """Shows the newest answer, or words for why there is none; while it is hidden, it draws nothing."""

    def __init__(self, glyphs: Glyphs, *, id: str, classes: str) -> None:  # noqa: A002 Textual's own name
        super().__init__(id=id, classes=classes)
        self._glyphs = glyphs
        self._one: Instance | None = None
        self._answer: AdviceAnswer | None = None
        self._absent = self._hint = self._adjust_key = ""
        self._title = ""

    def compose(self) -> ComposeResult:
        """All of it in one text."""
        yield TextLine()

    def show(
        self, one: Instance | None, answer: AdviceAnswer | None, absent: str, *, hint: str, adjust_key: str = ""
    ) -> None:
        """Show what is known of this server; the hint, how to see what has its place else, ends the title.

        `adjust_key` launches it again with changes, where there is such a key.
        """
        if one is None or self._one is None or (one.name, one.launch) != (self._one.name, self._one.launch):
            self.scroll_home(animate=False)
        self._one, self._answer, self._hint, self._adjust_key = one, answer, hint, adjust_key
        self._absent = absent or f"asking it what it does{self._glyphs.ellipsis}"
        self._draw()

    def on_mount(self) -> None:
        """Say that there is nothing yet."""
        self._draw()

    def on_resize(self) -> None:
        """Another width, other lines."""
        self._draw()

    def on_show(self) -> None:
        """Seen again, perhaps in its old size."""
        self.redraw()

    def redraw(self) -> None:
        """Draw what came while it was hidden; nothing was laid out or painted of that."""
        self._draw()
        self.query_one(TextLine).refresh(layout=True)

    def _draw(self) -> None:
        if not self.display:
            return
        region = self.scrollable_content_region
        if region.width:
            self.query_one(TextLine).show(Content("\n").join(self._lines(region.width, region.height)))
        title = self._title_words()
        if title != self._title:
            self._title = title
            self.border_title = Content(title)

    def _lines(self, width: int, height: int) -> list[Content]:
        if self._answer is None:
            return [Content.styled(self._glyphs.plain(self._absent), "$quiet")]
        return live_lines(self._answer, width, height, self._glyphs, adjust_key=self._adjust_key)

    def _title_words(self) -> str:
        """Whose it is, and who tells it."""
        glyphs, rule = self._glyphs, f" {self._glyphs.rule} "
        tail = f"{rule}{self._hint} " if self._hint else " "
        if self._one is None:
            return f" Live{tail}"
        live = self._one.live
        source = f"{rule}told by its {live.source}" if live is not None and live.source is not None else ""
        start = f" Live {glyphs.pointer} "
        room = self.size.width - cell_len(start + tail) - _FRAME_CELLS
        source = source if room - cell_len(source) >= _NAME_LEAST else ""
        name = glyphs.fit(glyphs.plain(self._one.name), max(_NAME_LEAST, room - cell_len(source)))
        return start + name + source + tail
