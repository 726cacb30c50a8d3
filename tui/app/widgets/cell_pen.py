"""Drawing a row of the table of servers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.strip import Strip

from tui.app.widgets.instance_rows import Cell

PADDING = 1
"""On either side of a cell."""


def draw_cells(
    cells: Sequence[Cell], widths: Iterable[int], width: int, style: Style, style_of: Callable[[str], Style]
) -> Strip:
    """A row, `width` cells long.

    Args:
        cells: those that are shown.
        widths: of each, inside its padding.
        width: of the table.
        style: of the row.
        style_of: the style of a cell by its words.
    """
    pad = " " * PADDING
    segments = [
        Segment(f"{pad}{set_cell_size(cell.text, room)}{pad}", style + style_of(cell.style))
        for cell, room in zip(cells, widths, strict=True)
    ]
    length = sum(cell_len(segment.text) for segment in segments)
    return Strip(segments, length).crop_extend(0, width, style)


def color_style(style: str, variables: Mapping[str, str]) -> Style:
    """A theme variable, `$error`, as the style that a strip takes."""
    return Style(color=Color.parse(variables[style.removeprefix("$")]).rich_color) if style else Style.null()
