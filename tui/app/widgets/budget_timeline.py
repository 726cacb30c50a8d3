"""Free memory when each stage of a start is over, as a small chart or in a line of words."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from textual.content import Content

from tui.app.glyphs import Glyphs
from tui.app.wrapping import JOINT, wrapped
from tui.budget.types import TimelinePoint
from tui.units import format_gib

_GAP = "  "
_BAR_MOST, _BAR_LEAST = 40, 10
_ENDS_HERE = "the start ends here"


def timeline_lines(timeline: Sequence[TimelinePoint], width: int, glyphs: Glyphs) -> list[Content]:
    """All of it in words, up to the stage at which nothing is left."""
    points = _reached(timeline)
    if not points:
        return []
    text = f"GiB free after{JOINT}{JOINT}" + f"{JOINT}{glyphs.dot} ".join(_point(point, glyphs) for point in points)
    return [Content.styled(line, "$quiet") for line in wrapped(text, width, glyphs)]


def timeline_chart(timeline: Sequence[TimelinePoint], width: int, glyphs: Glyphs) -> list[Content]:
    """A bar a stage, as long as what is free after it; nothing where there is no room for bars."""
    points = _reached(timeline)
    names = max((cell_len(_name(point, glyphs)) for point in points), default=0)
    figures = [format_gib(point.free) for point in points]
    figure = max(map(len, figures), default=0)
    room = min(_BAR_MOST, width - names - figure - 2 * len(_GAP))
    if not points or room < _BAR_LEAST:
        return []
    most = max(1, *(point.free for point in points))
    lines = [Content.styled("GiB free after each stage", "$quiet")]
    for point, gib in zip(points, figures, strict=True):
        bar = glyphs.level * max(0, round(point.free / most * room))
        fails = _fails(point)
        end = (bar, "$free") if not fails else (_ENDS_HERE[: max(0, width - names - figure - 2 * len(_GAP))], "$error")
        name = _name(point, glyphs)
        head = (
            f"{name}{' ' * (names - cell_len(name))}{_GAP}{gib.rjust(figure)}{_GAP}",
            "bold $error" if fails else "",
        )
        lines.append(Content.assemble(head, end).rstrip())
    return lines


def _reached(timeline: Sequence[TimelinePoint]) -> Sequence[TimelinePoint]:
    """Up to the first one that fails for certain."""
    last = next((place for place, point in enumerate(timeline) if point.high < 0), len(timeline))
    return timeline[: last + 1]


def _fails(point: TimelinePoint) -> bool:
    return point.high < 0


def _name(point: TimelinePoint, glyphs: Glyphs) -> str:
    sign = glyphs.problem if point.free < 0 else " "
    return f"{sign} {point.stage}"


def _point(point: TimelinePoint, glyphs: Glyphs) -> str:
    sign = f"{glyphs.problem}{JOINT}" if point.free < 0 else ""
    return sign + point.stage.replace(" ", JOINT) + JOINT + format_gib(point.free)
