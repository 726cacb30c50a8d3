"""How much room a widget has, also before the first layout: what is drawn then needn't be drawn again."""

from __future__ import annotations

from textual.widget import Widget


def inner_width(widget: Widget) -> int:
    """Cells in a line; before the first layout as if it were as wide as the window, as the panels are."""
    if width := widget.scrollable_content_region.width:
        return width
    around = [widget, *(one for one in widget.ancestors if isinstance(one, Widget))]
    frames = sum(one.styles.gutter.width + one.scrollbar_gutter.width for one in around)
    return max(0, widget.app.size.width - frames)
