"""The first line: whose machine this is, in which mode, and what it has."""

from __future__ import annotations

from tui.app.glyphs import Glyphs
from tui.app.widgets.text_line import TextLine
from tui.app.widgets.title_words import title_content
from tui.gpu import GpuReading


class TitleLine(TextLine):
    """Names the machine and the mode; the right part moves with the edge."""

    DEFAULT_CSS = """
    TitleLine { height: 1; text-wrap: nowrap; }
    """

    def __init__(self, where: str, glyphs: Glyphs, *, read_only: bool) -> None:
        super().__init__()
        self.remove_class("-empty")  # its size is needed before it has something to say
        self._where = where
        self._glyphs = glyphs
        self._read_only = read_only
        self._reading: GpuReading | None = None

    def show_reading(self, reading: GpuReading | None) -> None:
        """Say this reading's driver and number of GPUs, and whether they are simulated."""
        self._reading = reading
        width = self.size.width
        self.show(title_content(self._where, reading, width, self._glyphs, read_only=self._read_only))

    def on_resize(self) -> None:
        """The right part moves with the edge."""
        self.show_reading(self._reading)
