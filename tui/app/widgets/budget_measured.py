"""What a launch's log reported beside what was planned: a column of the budget's table, or lines below it."""

from __future__ import annotations

from textual.content import Content

from tui.app.glyphs import Glyphs
from tui.app.wrapping import JOINT, wrapped
from tui.diagnosis.compare import Comparison, Row

_BESIDE_FROM_CELLS = 100
_AVAILABLE = "free before the weights"
_WORTH_SAYING_GIB = 0.05
_GIVEN_BACK_GIB = 0.5


def has_room_beside(width: int) -> bool:
    """Whether measured figures have a column of their own."""
    return width >= _BESIDE_FROM_CELLS


def is_told(compared: Comparison) -> bool:
    """The log has figures of what was planned, not only of what was free."""
    return any(row.logged_gib is not None for row in compared.rows if row.component != _AVAILABLE)


def measured_words(compared: Comparison, component: str, shown_gib: float | None) -> str:
    """`51.05 +0.09` for a part of the budget; empty where nothing was logged of it.

    Of what is loaded and partly given back, the budget shows what stays, `shown_gib`, and the log what was loaded.
    """
    row = next((row for row in compared.rows if row.component == component), None)
    if row is None or row.logged_gib is None:
        return ""
    passes = shown_gib is not None and row.planned_gib is not None and row.planned_gib - shown_gib > _GIVEN_BACK_GIB
    return f"{row.logged_gib:.2f}{' at load' if passes else _difference(row)}"


def unplanned_lines(compared: Comparison, width: int, glyphs: Glyphs) -> list[Content]:
    """Where memory went that nobody planned, and what was free before anything."""
    words = [_free_words(row) for row in compared.rows if row.component == _AVAILABLE and row.logged_gib is not None]
    gone = compared.unplanned_gib
    if gone is not None and gone > _WORTH_SAYING_GIB:
        words.append(f"{gone:.2f} GiB went where no line of the log tells: workspaces, kernels, others")
    return [Content.styled(line, "$quiet") for line in wrapped("; ".join(words), width, glyphs)] if words else []


def measured_lines(compared: Comparison, width: int, glyphs: Glyphs) -> list[Content]:
    """All of it in a sentence, where there is no room for a column."""
    figures = [
        f"{row.component.replace(' ', JOINT)}{JOINT}{row.logged_gib:.2f}{_difference(row).replace(' ', JOINT)}"
        for row in compared.rows
        if row.logged_gib is not None and row.component != _AVAILABLE
    ]
    text = f"measured, and beyond the plan{JOINT} " + f"{JOINT}{glyphs.dot} ".join(figures)
    lines = [Content.styled(line, "$quiet") for line in wrapped(text, width, glyphs)]
    return lines + unplanned_lines(compared, width, glyphs)


def _free_words(row: Row) -> str:
    return f"{row.logged_gib:.2f} GiB were free before the weights{_beside(row)}"


def _beside(row: Row) -> str:
    return "" if row.planned_gib is None else f" ({row.planned_gib:.2f} planned)"


def _difference(row: Row) -> str:
    return "" if row.difference_gib is None else f" {row.difference_gib:+.2f}"
