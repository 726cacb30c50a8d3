"""Which cells of some lines read differently: over a slow line what is painted again is what costs."""

from __future__ import annotations

from collections.abc import Iterator

from rich.cells import cell_len
from textual.content import Content
from textual.geometry import Region

from tui.app.runs import runs

_GAP = 6  # cells that are as before, between two that aren't: moving the cursor costs about as many bytes

Cell = tuple[str, tuple[object, ...]]


def changed_regions(old: Content, new: Content) -> list[Region]:
    """Where two texts of equally many lines differ, in cells from the top left; empty where they don't."""
    lines = zip(old.split(allow_blank=True), new.split(allow_blank=True), strict=True)
    return [
        Region(start, y, end - start, 1)
        for y, (before, after) in enumerate(lines)
        if not before.is_same(after)
        for start, end in _spans(_cells(before), _cells(after))
    ]


def _cells(line: Content) -> list[Cell]:
    """Each character with its styles."""
    styles: list[tuple[object, ...]] = [()] * len(line.plain)
    for span in line.spans:
        for place in range(span.start, min(span.end, len(styles))):
            styles[place] = (*styles[place], span.style)
    return list(zip(line.plain, styles, strict=True))


def _spans(before: list[Cell], after: list[Cell]) -> Iterator[tuple[int, int]]:
    """Runs of cells, those that are near each other as one; to the end where the characters aren't all as wide."""
    width = max(_width(before), _width(after))
    if len(before) != len(after) or width != len(before):
        same = next((at for at, (one, other) in enumerate(zip(before, after, strict=False)) if one != other), None)
        yield _width(before[: min(len(before), len(after)) if same is None else same]), width
        return
    yield from runs((one != other for one, other in zip(before, after, strict=True)), _GAP)


def _width(cells: list[Cell]) -> int:
    return cell_len("".join(character for character, _ in cells))
