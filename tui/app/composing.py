"""Composing a frame from what has changed alone.

Textual renders every row of every widget in the smallest rectangle around all changes, and cuts it into pieces, also
where they are covered. A field at the bottom left and a budget at the top right make that the whole screen at each key.
"""

from __future__ import annotations

from textual._compositor import ChopsUpdate, Compositor  # public classes of a private module
from textual.geometry import Region
from textual.strip import Strip

Span = tuple[int, int]
"""First cell, and the one behind the last."""


class SparingCompositor(Compositor):
    """Renders the rows in which something has changed, of the widgets that are seen there."""

    def render_partial_update(self) -> ChopsUpdate | None:
        """What has changed since the last frame; None where nothing has."""
        spans = list(self._regions_to_spans(self._dirty_regions))
        self._dirty_regions.clear()
        if not spans:
            return None
        wanted: dict[int, list[Span]] = {}
        for y, start, end in spans:
            wanted.setdefault(y, []).append((start, end))
        pieces: list[dict[int, Strip]] = [{} for _ in range(self.size.height)]
        for widget, (region, clip) in self.visible_widgets.items():  # what lies above comes first
            seen = region.intersection(clip)
            rows = [
                y
                for y in seen.line_range
                if any(start < seen.right and end > seen.x for start, end in wanted.get(y, ()))
            ]
            if rows:
                top, bottom = rows[0], rows[-1] + 1
                crop = Region(seen.x - region.x, top - region.y, seen.width, bottom - top)
                strips = widget.render_lines(crop)
                for y in rows:
                    wanted[y] = _take(wanted[y], strips[y - top], seen, pieces[y])
        chops = [dict(sorted(line.items())) for line in pieces]
        ends = [[x + strip.cell_length for x, strip in line.items()] for line in chops]
        return ChopsUpdate(chops, spans, ends)


def _take(wanted: list[Span], strip: Strip, seen: Region, pieces: dict[int, Strip]) -> list[Span]:
    """Add what a widget's row shows of the cells that are wanted; those that it doesn't cover are left."""
    left = []
    for start, end in wanted:
        first, last = max(start, seen.x), min(end, seen.right)
        if first >= last:
            left.append((start, end))
            continue
        pieces[first] = strip.crop(first - seen.x, last - seen.x)
        left += [span for span in ((start, first), (last, end)) if span[0] < span[1]]
    return left
