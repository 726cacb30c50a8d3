"""How large the panels are: in steps from their usual size, which the style sheet says."""

from __future__ import annotations

from textual.widget import Widget

LARGEST = 3
_STEP = 1.5
_MOST_PERCENT = 80.0

# As in dashboard.tcss: shares of the room that is left, in `fr`; limits of what is as high as its content, in percent.
_SHARES = {"budget": 2.0, "finding": 2.0, "live": 2.0, "log": 1.0}
_LIMITS = {"gpus": 50.0, "servers": 40.0}


def apply_size(panel: Widget, steps: int) -> None:
    """Give a panel its size; with no steps, that of the style sheet."""
    name, factor = panel.id or "", _STEP**steps
    height = limit = None
    if steps and name in _LIMITS:
        limit = f"{min(_MOST_PERCENT, _LIMITS[name] * factor):.0f}%"
    elif steps and name in _SHARES:
        height = f"{_SHARES[name] * factor:.2f}fr"
        limit = "100%" if steps > 0 else None  # the style sheet's own limit is for the usual size
    panel.styles.height, panel.styles.max_height = height, limit
