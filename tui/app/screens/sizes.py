"""How large the panels are: in steps from their usual size, which the style sheet says."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from textual.widget import Widget

LEAST_COLUMNS, LEAST_LINES = 60, 16
"""Of a window in which there can be a dashboard."""

LARGEST = 3
_STEP = 1.5
_MOST_PERCENT = 80.0
_LEAST_LINES = 3

# As in dashboard.tcss: limits of what is as high as its content, in percent; share, in `fr`, and limit, in lines, of
# what shares the rest with the log, whose own share is 1 in any case.
_LIMITS = {"gpus": 50.0, "servers": 40.0}
_SHARE, _MOST_LINES = 2.0, 25


def limit_percent(panel: str, steps: int) -> float:
    """How much of the window's height a panel that is as high as its content may take."""
    return min(_MOST_PERCENT, _LIMITS[panel] * _STEP**steps) if steps else _LIMITS[panel]


def apply_size(panel: Widget, steps: int) -> None:
    """Give a panel its size; with no steps, that of the style sheet."""
    name, factor = panel.id or "", _STEP**steps
    height = limit = None
    if steps and name in _LIMITS:
        limit = f"{limit_percent(name, steps):.0f}%"
    elif steps and name != "log":
        height = f"{_SHARE * factor:.2f}fr"
        limit = "100%" if steps > 0 else f"{max(_LEAST_LINES, round(_MOST_LINES * factor))}"
    panel.styles.height, panel.styles.max_height = height, limit
