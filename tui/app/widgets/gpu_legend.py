"""Who the signs in the bars are: a few lines below them."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from tui.app.glyphs import Glyphs
from tui.app.holders import Holder
from tui.units import format_gib

_INDENT = "  "
_GAP = "   "
_MOST_LINES = 3
_MORE_CELLS = len("   and 999 more")


def legend_lines(holders: Sequence[Holder], width: int, glyphs: Glyphs) -> list[Content]:
    """Each with what it holds, no line wider than `width` cells; how many have no room is said at the end."""
    entries = [_entry(holder, width - _MORE_CELLS, glyphs) for holder in holders]
    lines = _packed(entries, width - len(_INDENT))
    return [Content.assemble(_INDENT, Content(_GAP).join(line)) for line in lines if line]


def _packed(entries: Sequence[Content], width: int) -> list[list[Content]]:
    lines: list[list[Content]] = [[]]
    for position, entry in enumerate(entries):
        is_last_line = len(lines) == _MOST_LINES
        reserve = _MORE_CELLS if is_last_line and position + 1 < len(entries) else 0
        used = sum(part.cell_length + len(_GAP) for part in lines[-1])
        if used + entry.cell_length + reserve > width:
            if is_last_line:
                lines[-1].append(Content.styled(f"and {len(entries) - position} more", "$quiet"))
                break
            lines.append([])
        lines[-1].append(entry)
    return lines


def _entry(holder: Holder, width: int, glyphs: Glyphs) -> Content:
    size = format_gib(holder.size_bytes)
    label = glyphs.fit(glyphs.plain(holder.label), width - len(size) - 4)
    return Content.assemble((holder.sign, f"$ink on {holder.style}"), f" {label} ", (size, "bold"))
