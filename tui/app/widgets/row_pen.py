"""Drawing rows of text: what Textual does for any text costs ten times as much, and a key may change thirty rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise

from rich.segment import Segment
from rich.style import Style as RichStyle
from textual.content import Content
from textual.strip import Strip
from textual.style import Style

Look = str | Style


def row_pen(own: Style, style_of: Callable[[Look], Style]) -> Callable[[Content, int], Strip]:
    """Draws rows of one line each on a ground, so many cells wide; a style that several pieces have is worked out once.

    The pieces don't say from which place in the text they come: only a mouse that points at them asks for that.

    Args:
        own: of what the rows lie on.
        style_of: a style by its words, as the theme is now. A pen is for one moment: it isn't kept.
    """

    @cache
    def rich_style(looks: tuple[Look, ...]) -> RichStyle:
        return sum(map(style_of, looks), own).rich_style

    def draw(content: Content, width: int) -> Strip:
        segments = [Segment(text, rich_style(looks)) for text, looks in _pieces(content)]
        cells = content.cell_length
        if cells < width:
            segments.append(Segment(" " * (width - cells), rich_style(())))
        strip = Strip(segments, max(cells, width))
        return strip if cells <= width else strip.crop(0, width)

    return draw


def _pieces(content: Content) -> Iterator[tuple[str, tuple[Look, ...]]]:
    """The text in pieces that look the same, each with its styles, the last over those before."""
    text, spans = content.plain, content.spans
    cuts = sorted({0, len(text), *(at for span in spans for at in (span.start, span.end) if 0 < at < len(text))})
    for start, end in pairwise(cuts):
        yield text[start:end], tuple(span.style for span in spans if span.start <= start < span.end)
