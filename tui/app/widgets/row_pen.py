"""Drawing rows of text: what Textual does for any text costs five times as much, and a key may change thirty rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from rich.segment import Segment
from textual.content import Content
from textual.strip import Strip
from textual.style import Style


def row_pen(own: Style, style_of: Callable[[str | Style], Style]) -> Callable[[Content, int], Strip]:
    """Draws rows of one line each on a ground, so many cells wide; a style that several pieces have is worked out once.

    The pieces don't say from which place in the text they come: only a mouse that points at them asks for that.

    Args:
        own: of what the rows lie on.
        style_of: a style by its words, as the theme is now. A pen is for one moment: it isn't kept.
    """
    parse, rich_style = cache(style_of), cache(lambda style: style.rich_style)

    def draw(content: Content, width: int) -> Strip:
        pieces = content.render(own, end="", parse_style=parse)
        segments = [Segment(text, rich_style(style)) for text, style in pieces if text]
        cells = content.cell_length
        if cells < width:
            segments.append(Segment(" " * (width - cells), own.rich_style))
        strip = Strip(segments, max(cells, width))
        return strip if cells <= width else strip.crop(0, width)

    return draw
