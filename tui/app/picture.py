"""What the terminal shows, cell by cell, so that only those are sent that are to look different.

Textual sends a line from the left edge of its widget up to each place that changed, once for each of them, with the
colours of every piece written out: 2 kB for a line of five figures. Over SSH bytes are what a frame costs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import ne
from typing import NamedTuple, cast

from rich.cells import cell_len
from rich.color import ColorSystem
from rich.console import Console, RenderableType
from textual._compositor import ChopsUpdate, CompositorUpdate, LayoutUpdate  # public classes of a private module
from textual.strip import Strip

from tui.app.pencil import Line, Pen, Pencil, cells_of, color_system, is_narrow
from tui.app.runs import runs

_GAP = 5  # cells that are as before, between two that aren't: to move past them takes as many bytes


class Picture:
    """Kept by whoever writes to the terminal; all that is painted has to go through it."""

    def __init__(self) -> None:
        self._lines: dict[int, Line] = {}
        self._wide: set[int] = set()  # lines with other characters than those of one cell

    def forget(self) -> None:
        """Something else may have been written there: the next frame is sent as a whole."""
        self._lines.clear()
        self._wide.clear()

    def changes(self, update: LayoutUpdate | ChopsUpdate) -> RenderableType:
        """The same update, reduced to what isn't shown yet when it is rendered."""
        return cast("RenderableType", _Changes(self, update))  # as Textual's own updates are

    def draw(self, update: LayoutUpdate | ChopsUpdate, system: ColorSystem) -> str:
        """Escape sequences that make the terminal show an update."""
        wanted: dict[int, Line] = {}
        for y, x, strip in _placed(update):
            line = wanted.get(y)
            if line is None:
                line = wanted[y] = list(self._lines.get(y, ()))
            line.extend([None] * (x - len(line)))
            line[x : x + strip.cell_length] = cells_of(strip, system)
            if not all(is_narrow(segment.text) for segment in strip if segment.text):
                self._wide.add(y)
        pencil = Pencil()
        for y, line in sorted(wanted.items()):
            for start, end in self._runs(y, line):
                pencil.write(start, y, line[start:end])
            self._lines[y] = line
        return pencil.done()

    def _runs(self, y: int, line: Line) -> Iterable[tuple[int, int]]:
        """First and last cell of what has to be written of a line.

        One with other characters than those of one cell is written as a whole: terminals don't agree on their widths.
        """
        shown = self._lines.get(y, [])
        if y not in self._wide:
            return _differences(shown, line)
        _mend_halves(line)
        if all(cell is None or is_narrow(cell[0]) for cell in line):
            self._wide.discard(y)
        return [(0, len(line))] if shown != line else []


class _Changes(CompositorUpdate):
    """An update that knows what is shown already."""

    def __init__(self, picture: Picture, update: LayoutUpdate | ChopsUpdate) -> None:
        self._picture = picture
        self._update = update

    def render_segments(self, console: Console) -> str:
        """What to write."""
        return self._picture.draw(self._update, color_system(console))


def _placed(update: LayoutUpdate | ChopsUpdate) -> Iterator[tuple[int, int, Strip]]:
    """Where each piece of an update stands: line, first cell."""
    if isinstance(update, LayoutUpdate):
        for y, strips in enumerate(update.strips, start=update.region.y):
            x = update.region.x
            for strip in strips:
                yield y, x, strip
                x += strip.cell_length
        return
    for y, start, end in update.spans:
        chops = update.chops[y]
        for last, (x, piece) in zip(update.chop_ends[y], chops.items(), strict=False):
            if piece is not None and x < end and last > start:
                yield y, x, piece.crop(0, last - x)


class _Half(NamedTuple):
    """The first cell of a wide character."""

    at: int
    pen: Pen


def _mend_halves(line: Line) -> None:
    """Blank what is left of characters of two cells one of which is something else now."""
    first: _Half | None = None  # of one that began right before this cell
    for at, cell in enumerate([*line, None]):
        is_second = cell is not None and not cell[0]
        if cell is not None and is_second and first is None:
            line[at] = (" ", cell[1])
        elif first is not None and not is_second:
            line[first.at] = (" ", first.pen)
        first = _Half(at, cell[1]) if cell is not None and cell_len(cell[0]) > 1 else None


def _differences(shown: Line, wanted: Line) -> Iterator[tuple[int, int]]:
    """First and last cell of what isn't the same; runs that are near each other are one."""
    if shown == wanted:
        return iter(())
    unknown: Line = [None] * (len(wanted) - len(shown))
    return runs(map(ne, [*shown, *unknown], wanted), _GAP)  # a cell of a line is never unlearned
