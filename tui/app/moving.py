"""What each move is called by the widgets that know it."""

from __future__ import annotations

from textual.widget import Widget

_WAYS = {
    "down": ("cursor_down", "scroll_down"),
    "up": ("cursor_up", "scroll_up"),
    "page-down": ("page_down",),
    "page-up": ("page_up",),
    "left": ("scroll_left",),
    "right": ("scroll_right",),
    "top": ("scroll_top", "first", "scroll_home"),
    "bottom": ("scroll_bottom", "last", "scroll_end"),
}


async def move(widget: Widget, direction: str) -> None:
    """Move in a widget, by the first of these actions that it has."""
    for action in _WAYS[direction]:
        if hasattr(widget, f"action_{action}"):
            await widget.run_action(action)
            return
