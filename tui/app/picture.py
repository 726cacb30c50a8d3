"""What the terminal shows, cell by cell, so that only those are sent that are to look different.

Textual sends a line from the left edge of its widget up to each place that changed, once for each of them, with the
colours of every piece written out: 2 kB for a line of five figures. Over SSH bytes are what a frame costs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, groupby, repeat
from operator import ne
from typing import NamedTuple, cast

from rich.cells import cell_len
from rich.color import ColorSystem
from rich.console import Console, RenderableType
from rich.segment import Segment
from rich.style import Style
from textual._compositor import ChopsUpdate, CompositorUpdate, LayoutUpdate  # public classes of a private module
from textual.strip import Strip

from tui.app.runs import runs

_SYSTEMS = {"standard": ColorSystem.STANDARD, "256": ColorSystem.EIGHT_BIT, "truecolor": ColorSystem.TRUECOLOR}
# What switches each on, and what off again, two at a time.
_ATTRIBUTES = {
    "bold": ("1", "22"),
    "dim": ("2", "22"),
    "italic": ("3", "23"),
    "underline": ("4", "24"),
    "underline2": ("21", "24"),
    "blink": ("5", "25"),
    "blink2": ("6", "25"),
    "reverse": ("7", "27"),
    "conceal": ("8", "28"),
    "strike": ("9", "29"),
    "frame": ("51", "54"),
    "encircle": ("52", "54"),
    "overline": ("53", "55"),
}
_OFF = dict(_ATTRIBUTES.values())
_NO_COLOR, _NO_GROUND = "39", "49"
_GAP = 5  # cells that are as before, between two that aren't: to move past them takes as many bytes
_RESET = "\x1b[0m"


class Pen(NamedTuple):
    """How characters look, as the numbers that a terminal takes."""

    attributes: tuple[str, ...] = ()
    color: str = _NO_COLOR
    ground: str = _NO_GROUND
    link: str = ""


_PLAIN = Pen()


Cell = tuple[str, Pen]
"""A character, with those that combine with it; empty behind one that is two cells wide."""
Line = list[Cell | None]
"""None: nobody knows what is shown there."""


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
            line[x : x + strip.cell_length] = _cells(strip, system)
            if not all(_is_narrow(segment.text) for segment in strip if segment.text):
                self._wide.add(y)
        pencil = _Pencil()
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
        if all(cell is None or _is_narrow(cell[0]) for cell in line):
            self._wide.discard(y)
        return [(0, len(line))] if shown != line else []


class _Changes(CompositorUpdate):
    """An update that knows what is shown already."""

    def __init__(self, picture: Picture, update: LayoutUpdate | ChopsUpdate) -> None:
        self._picture = picture
        self._update = update

    def render_segments(self, console: Console) -> str:
        """What to write."""
        return self._picture.draw(self._update, _SYSTEMS.get(console.color_system or "", ColorSystem.TRUECOLOR))


class _Pencil:
    """Writes cells with as few sequences as it takes."""

    def __init__(self) -> None:
        self._written: list[str] = []
        self._pen: Pen | None = None

    def write(self, x: int, y: int, cells: Sequence[Cell | None]) -> None:
        """Beginning at a place; what isn't known is passed over."""
        place, is_there = x, False
        for pen, alike in groupby(cells, _pen_of):
            piece = list(alike)
            if pen is not None:
                if not is_there:
                    self._written.append(f"\x1b[{y + 1};{place + 1}H")
                if text := "".join(cell[0] for cell in piece if cell is not None):
                    if pen is not self._pen:
                        self._take(pen)
                    self._written.append(text)
            place, is_there = place + len(piece), pen is not None

    def done(self) -> str:
        """All of it; what others write afterwards has no colours of ours."""
        if self._pen is not None:
            self._take(_PLAIN)
            self._written.append(_RESET)
        return "".join(self._written)

    def _take(self, pen: Pen) -> None:
        if pen.link != (self._pen or _PLAIN).link:
            self._written.append(f"\x1b]8;;{pen.link}\x1b\\")
        if numbers := ["0", *_numbers(_PLAIN, pen)] if self._pen is None else _numbers(self._pen, pen):
            self._written.append(f"\x1b[{';'.join(numbers)}m")
        self._pen = pen


def _pen_of(cell: Cell | None) -> Pen | None:
    return None if cell is None else cell[1]


def _numbers(old: Pen, new: Pen) -> list[str]:
    """What has to be said to go from one to the other."""
    off = {_OFF[one] for one in old.attributes if one not in new.attributes}
    on = [one for one in new.attributes if one not in old.attributes or _OFF[one] in off]
    color = [] if new.color == old.color else [new.color]
    ground = [] if new.ground == old.ground else [new.ground]
    return [*sorted(off), *on, *color, *ground]


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


def _cells(strip: Strip, system: ColorSystem) -> list[Cell]:
    cells: list[Cell] = []
    for segment in cast("Iterator[Segment]", strip):
        if segment.control:
            continue
        pen = _pen(segment.style or Style.null(), system)
        if _is_narrow(segment.text):
            cells += _narrow_cells(segment.text, pen)
        else:
            _add_wide(cells, segment.text, pen)
    return cells


@lru_cache(maxsize=4096)  # most pieces of a frame were in the one before: the same cells are compared fastest
def _narrow_cells(text: str, pen: Pen) -> list[Cell]:
    return [(character, pen) for character in text]


@lru_cache(maxsize=4096)
def _is_narrow(text: str) -> bool:
    """Each of its characters is one cell wide."""
    return bool(text) and (text.isascii() or all(cell_len(character) == 1 for character in text))


def _add_wide(cells: list[Cell], text: str, pen: Pen) -> None:
    for character in text:
        width = cell_len(character)
        if width:
            cells.append((character, pen))
            cells.extend([("", pen)] * (width - 1))
        elif cells:
            cells[-1] = (cells[-1][0] + character, cells[-1][1])


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


@lru_cache(maxsize=4096)
def _pen(style: Style, system: ColorSystem) -> Pen:
    attributes = tuple(number for name, (number, _) in _ATTRIBUTES.items() if getattr(style, name))
    color, ground = style.color, style.bgcolor
    return Pen(
        attributes,
        _NO_COLOR if color is None else ";".join(color.downgrade(system).get_ansi_codes()),
        _NO_GROUND if ground is None else ";".join(ground.downgrade(system).get_ansi_codes(foreground=False)),
        style.link or "",
    )


def _differences(shown: Line, wanted: Line) -> Iterator[tuple[int, int]]:
    """First and last cell of what isn't the same; runs that are near each other are one.

    What nobody knows of the wanted line isn't known of the one that is shown, either.
    """
    return runs(map(ne, wanted, chain(shown, repeat(None))), _GAP)
