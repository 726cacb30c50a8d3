"""One log line as strips of cells: a sign in the gutter, and the text with its time, ranks and message."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from tui.logs.highlight import LineKind, kind_of, split
from tui.logs.text import sanitize

GUTTER_CELLS = 2
LINE_LIMIT = 24_000
"""Characters of a line that can be scrolled to; SGLang's `server_args=` line has up to 19,000."""

COMPONENTS = ("time", "ranks", "notice", *(kind.name.lower() for kind in LineKind))
"""Names of the styles that `draw_line` asks for."""

_SIGNS = {LineKind.ERROR: "✗", LineKind.TRACEBACK: "│", LineKind.WARNING: "!", LineKind.READY: "✓"}
_ASCII_SIGNS = {LineKind.ERROR: "x", LineKind.TRACEBACK: "|", LineKind.WARNING: "!", LineKind.READY: "+"}

StyleOf = Callable[[str], Style]


class LogLine(NamedTuple):
    """A drawn line; the gutter stays in view when the text is scrolled sideways."""

    gutter: Strip
    text: Strip

    def crop(self, column: int, width: int, rest: Style) -> Strip:
        """The part that is in view, `width` cells wide, filled up with `rest`."""
        text = self.text.crop_extend(column, column + width - GUTTER_CELLS, rest)
        return Strip.join([self.gutter, text]).simplify()  # each change of style costs some 40 bytes on the wire


def draw_line(line: bytes, style_of: StyleOf, *, ascii: bool) -> LogLine:  # noqa: A002 - named like the option
    """Draw a line as it is in the file."""
    parts = split(sanitize(line, limit=LINE_LIMIT))
    kind = kind_of(parts)
    style = style_of(kind.name.lower())
    styles = (style, style_of("time"), style_of("ranks"), style)
    text = [Segment(part, part_style) for part, part_style in zip(parts, styles, strict=True) if part]
    sign = (_ASCII_SIGNS if ascii else _SIGNS).get(kind)
    return LogLine(_gutter(sign or "", style if sign or not text else text[0].style), Strip(text))


def draw_notice(words: str, style_of: StyleOf) -> LogLine:
    """Draw words of our own."""
    style = style_of("notice")
    return LogLine(_gutter("", style), Strip([Segment(words, style)]))


def _gutter(sign: str, style: Style | None) -> Strip:
    return Strip([Segment(sign.ljust(GUTTER_CELLS), style)], GUTTER_CELLS)
