"""The first line: whose machine this is, in which mode, and what it has."""

from __future__ import annotations

from textual.content import Content

from tui.app.glyphs import Glyphs
from tui.app.widgets.text_line import TextLine
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


def title_content(where: str, reading: GpuReading | None, width: int, glyphs: Glyphs, *, read_only: bool) -> Content:
    """`sgltui · HOST  SIMULATED  read-only … driver · GPUs`; the right part gives way first."""
    marks = []
    if reading is not None and reading.simulated:
        marks.append(Content.assemble("  ", (" SIMULATED ", "$ink on $warning bold")))
    if read_only:
        marks.append(Content.assemble("  ", (" read-only ", "$ink on $quiet")))
    taken = sum(mark.cell_length for mark in marks)
    host = glyphs.fit(f" {glyphs.dot} {glyphs.plain(where)}", max(0, width - taken - len(" sgltui ")))
    left = Content.assemble((" sgltui", "bold $primary"), host, *marks)
    right = _facts(reading, glyphs)
    gap = width - left.cell_length - len(right) - 1
    return left if gap < 1 else Content.assemble(left, " " * gap, (right, "$quiet"))


def _facts(reading: GpuReading | None, glyphs: Glyphs) -> str:
    if reading is None or reading.problem is not None:
        return ""
    count = len(reading.gpus)
    parts = [f"driver {glyphs.plain(reading.driver)}"] if reading.driver else []
    return f" {glyphs.dot} ".join([*parts, f"{count} GPU" if count == 1 else f"{count} GPUs"])
