"""One line a GPU: its parts as letters in proportion, what doesn't fit behind them, and absolute GiB."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.cells import cell_len
from textual.content import Content

from tui.app.glyphs import Glyphs
from tui.app.holders import share_cells
from tui.app.widgets.budget_parts import Fill
from tui.app.words import format_indices, short_gpu_name
from tui.units import format_gib

_GAP = "  "
_HEAD_MOST = 24
_SHORT_SHARE = 3  # what doesn't fit takes a third of the bar at most: beyond that its length says nothing more


def bar_lines(fills: Sequence[Fill], names: Mapping[int, str], width: int, glyphs: Glyphs) -> list[Content]:
    """A line for GPUs that are filled alike, no wider than `width` cells; `names` are the cards', by index."""
    heads = [_head(fill, names, glyphs) for fill in fills]
    figures = [_figures(fill) for fill in fills]
    head_cells = max((cell_len(head) for head in heads), default=0)
    figure_cells = max(map(len, figures), default=0)
    cells = width - head_cells - figure_cells - 2 * len(_GAP)
    return [
        Content.assemble(
            head + " " * (head_cells - cell_len(head)) + _GAP,
            bar_content(fill, cells, glyphs),
            _GAP,
            (figure.rjust(figure_cells), "bold $error" if fill.short else "bold"),
        )
        for fill, head, figure in zip(fills, heads, figures, strict=True)
    ]


def bar_content(fill: Fill, cells: int, glyphs: Glyphs) -> Content:
    """The bar: letters up to the limit, the sign of what doesn't fit, then what stays free."""
    room = max(0, cells - 2 * len(glyphs.edge))
    inside = _inside(fill)
    short = min(fill.short, fill.rank.total // (_SHORT_SHARE - 1))
    behind = max(0, fill.rank.total - sum(inside) - short)
    *held, short, free = share_cells([*inside, short, behind], room)
    pieces = [
        (part.kind.sign * count, f"$ink on {part.kind.style}")
        for part, count in zip(fill.parts, held, strict=True)
        if count
    ]
    return Content.assemble(
        glyphs.edge,
        *pieces,
        (glyphs.overflow * short, "bold $ink on $error"),
        (glyphs.free * free, "$free"),
        " " * (room - sum(held) - short - free),  # only when nothing is known of the card
        glyphs.edge,
    )


def _inside(fill: Fill) -> list[int]:
    """What of each part lies below the limit."""
    inside, below = [], fill.limit
    for part in fill.parts:
        inside.append(max(0, min(part.size, below)))
        below -= part.size
    return inside


def _head(fill: Fill, names: Mapping[int, str], glyphs: Glyphs) -> str:
    name = glyphs.plain(short_gpu_name(names.get(fill.gpus[0], "")))
    return glyphs.fit(f"{format_indices(fill.gpus)} {name}", _HEAD_MOST)


def _figures(fill: Fill) -> str:
    """Needed of all that there is; what is missing where that isn't enough."""
    if fill.short:
        return f"{format_gib(fill.short, 2)} GiB short"
    return f"{format_gib(fill.needed)} / {format_gib(fill.rank.total)} GiB"
