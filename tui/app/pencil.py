"""Writing cells to a terminal: what they are, and the sequences that make it show them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple, cast

from rich.cells import cell_len
from rich.color import ColorSystem
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

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


def color_system(console: Console) -> ColorSystem:
    """The colours that a terminal knows, as far as it is known."""
    return _SYSTEMS.get(console.color_system or "", ColorSystem.TRUECOLOR)


class Pencil:
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


def cells_of(strip: Strip, system: ColorSystem) -> list[Cell]:
    """What a row of pieces puts into the cells of a terminal with these colours."""
    cells: list[Cell] = []
    for segment in cast("Iterator[Segment]", strip):
        if segment.control:
            continue
        ink = _ink(segment.style or Style.null(), system)
        if is_narrow(segment.text):
            cells += map(ink.__getitem__, segment.text)
        else:
            _add_wide(cells, segment.text, ink.pen)
    return cells


@lru_cache(maxsize=4096)
def is_narrow(text: str) -> bool:
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


class _Ink(dict[str, Cell]):
    """The cells that a pen has written, one for each character: a frame has thousands, and few that differ."""

    def __init__(self, pen: Pen) -> None:
        super().__init__()
        self.pen = pen

    def __missing__(self, character: str) -> Cell:
        cell = self[character] = character, self.pen
        return cell


@lru_cache(maxsize=1024)
def _ink(style: Style, system: ColorSystem) -> _Ink:
    return _Ink(_pen(style, system))


def _pen(style: Style, system: ColorSystem) -> Pen:
    attributes = tuple(number for name, (number, _) in _ATTRIBUTES.items() if getattr(style, name))
    color, ground = style.color, style.bgcolor
    return Pen(
        attributes,
        _NO_COLOR if color is None else ";".join(color.downgrade(system).get_ansi_codes()),
        _NO_GROUND if ground is None else ";".join(ground.downgrade(system).get_ansi_codes(foreground=False)),
        style.link or "",
    )
