"""One log line as strips of cells: a sign in the gutter, and the text with its time, ranks and message."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import islice
from typing import NamedTuple

from rich.cells import cell_len
from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from tui.diagnosis.rule import Severity
from tui.diagnosis.severity import severity_of
from tui.launch.explanation import Mark
from tui.logs.highlight import LineKind, Parts, kind_of, split
from tui.logs.pattern import Pattern
from tui.logs.text import sanitize

GUTTER_CELLS = 2
MARKS = (Mark.ROOT, Mark.CONSEQUENCE, Mark.FINDING)
"""What a diagnosis says of lines."""

LINE_LIMIT = 24_000
"""Characters of a line that can be scrolled to; SGLang's `server_args=` line has up to 19,000."""

COMPONENTS = (
    *("time", "ranks", "notice", "match", "selected", "memory"),
    *(kind.name.lower() for kind in LineKind),
    *(mark.value for mark in MARKS),
)
"""Names of the styles that `draw_line` asks for."""

# No sign for SGLang's "ready to roll!": it says so, too, when another server owns the port.
_SIGNS = {LineKind.ERROR: "✗", LineKind.TRACEBACK: "│", LineKind.WARNING: "!"}
_ASCII_SIGNS = {LineKind.ERROR: "x", LineKind.TRACEBACK: "|", LineKind.WARNING: "!"}
_MARK_SIGNS = {Mark.ROOT: "✗✗", Mark.CONSEQUENCE: "↳", Mark.FINDING: "!"}
_ASCII_MARK_SIGNS = {Mark.ROOT: "xx", Mark.CONSEQUENCE: "`", Mark.FINDING: "!"}
_LOUD = {Severity.OUT_OF_MEMORY: LineKind.ERROR, Severity.ERROR: LineKind.ERROR, Severity.WARNING: LineKind.WARNING}
_HARMLESS = frozenset({LineKind.ACCESS, LineKind.BATCH, LineKind.READY, LineKind.TRACEBACK})
_CUT, _ASCII_CUT = ("…", "…"), ("<", ">")  # on the left, on the right; a cell each
_BLOCKS = dict.fromkeys(range(0x2580, 0x25A0), "#")  # what progress bars are drawn with
_MARKS = 200  # in one line
_NUMERIC = "0123456789.,"
_TIME_OF_DAY = re.compile(r"\d\d:\d\d:\d\d(?:\.\d+)?")

StyleOf = Callable[[str], Style]


class LogLine(NamedTuple):
    """A drawn line; the gutter stays in view when the text is scrolled sideways.

    Attributes:
        cut: the signs that there is more on the left or on the right.
    """

    gutter: Strip
    text: Strip
    cut: tuple[str, str]

    def crop(self, column: int, width: int, rest: Style) -> Strip:
        """The part that is in view, `width` cells wide, filled up with `rest`; more to the right is said."""
        end = column + width - GUTTER_CELLS
        text = self.text.crop(column, end) if self.text.cell_length <= end else self._cut_at(column, end, rest)
        filled = text.extend_cell_length(end - column, rest)
        return Strip.join(
            [self._gutter_at(column, rest), filled]
        ).simplify()  # each change of style costs some 40 bytes on the wire

    def parts(self, width: int) -> int:
        """Rows of the screen that it takes when it is wrapped."""
        return max(1, -(-self.text.cell_length // max(1, width - GUTTER_CELLS)))

    def part(self, number: int, width: int, rest: Style) -> Strip:
        """One of those rows."""
        room = max(1, width - GUTTER_CELLS)
        text = self.text.crop(number * room, (number + 1) * room).extend_cell_length(room, rest)
        gutter = Strip([Segment(" " * GUTTER_CELLS, rest)], GUTTER_CELLS) if number else self.gutter
        return Strip.join([gutter, text]).simplify()

    def _gutter_at(self, column: int, style: Style) -> Strip:
        if not column or not self.text.cell_length:
            return self.gutter
        return Strip.join([self.gutter.crop(0, GUTTER_CELLS - 1), Strip([Segment(self.cut[0], style)], 1)])

    def _cut_at(self, column: int, end: int, style: Style) -> Strip:
        """Leaves a cell for the sign; a number that would lose digits goes as a whole."""
        kept, following = self.text.crop(column, end - 1), self.text.crop(end - 1, end).text
        digits = len(kept.text) - len(kept.text.rstrip(_NUMERIC)) if following[:1] in _NUMERIC else 0
        if digits < len(kept.text):  # else it is one number from edge to edge
            kept = kept.crop(0, kept.cell_length - digits)
        return Strip.join([kept, Strip([Segment(self.cut[1], style)], 1)])


def draw_line(
    line: bytes,
    style_of: StyleOf,
    *,
    ascii: bool,  # noqa: A002 - named like the option
    narrow: bool,
    pattern: Pattern | None = None,
    mark: Mark | None = None,
) -> LogLine:
    """Draw a line as it is in the file; in a narrow window its stamp says the time of day alone.

    `mark` is what a diagnosis says of it, which is louder than what it looks like by itself.
    """
    safe = sanitize(line, limit=LINE_LIMIT)
    parts = split(_drawable(safe, ascii=ascii))
    kind, component = _loudness(safe, kind_of(parts))
    if narrow and not parts.lead:
        parts = _without_date(parts)
    style = style_of(component if mark is None else mark.value)
    styles = (style, style_of("time"), style_of("ranks"), style)
    text = [Segment(part, part_style) for part, part_style in zip(parts, styles, strict=True) if part]
    sign = (_ASCII_SIGNS if ascii else _SIGNS).get(kind)
    if mark is not None:
        sign = (_ASCII_MARK_SIGNS if ascii else _MARK_SIGNS)[mark]
    gutter = _gutter(sign or "", style if sign or not text else text[0].style)
    strip = Strip(text) if pattern is None else _marked(Strip(text), pattern, style_of("match"))
    return LogLine(gutter, strip, _ASCII_CUT if ascii else _CUT)


def _loudness(text: str, kind: LineKind) -> tuple[LineKind, str]:
    """Its kind and style, by what is known of such lines: those that tell of memory that ran out are the loudest."""
    severity = None if kind in _HARMLESS else severity_of(text)
    if severity is None:
        return kind, kind.name.lower()
    loud = kind if kind is LineKind.ERROR else _LOUD[severity]
    return loud, "memory" if severity is Severity.OUT_OF_MEMORY else loud.name.lower()


def _marked(strip: Strip, pattern: Pattern, style: Style) -> Strip:
    """With what matches in another style."""
    text, cuts = strip.text, []
    for match in islice(pattern.expression.finditer(text), _MARKS):
        if match.end() > match.start():
            cuts += [cell_len(text[: match.start()]), cell_len(text[: match.end()])]
    if not cuts:
        return strip
    pieces = list(strip.divide([*cuts, strip.cell_length]))
    return Strip.join(_over(piece, style) if at % 2 else piece for at, piece in enumerate(pieces))


def pointed(strip: Strip, style_of: StyleOf, *, ascii: bool) -> Strip:  # noqa: A002 - named like the option
    """A row with a sign in its gutter that it is the selected one.

    It keeps its colours, and what has a ground of its own in it, as a match and the root of a failure do, keeps that.
    """
    selected, ground = style_of("selected"), style_of("").bgcolor
    under = Style(bgcolor=selected.bgcolor)
    sign = Strip([Segment(">" if ascii else "▸", selected)], 1)
    row = Strip.join([strip.crop(0, 1), sign, strip.crop(GUTTER_CELLS)])
    segments = (_laid(piece, under) if _ground(piece) in (None, ground) else piece for piece in row)
    return Strip(segments, row.cell_length)


def _ground(segment: Segment) -> Color | None:
    return None if segment.style is None else segment.style.bgcolor


def _over(strip: Strip, style: Style) -> Strip:
    """In another style, whatever it was in."""
    return Strip([_laid(segment, style) for segment in strip], strip.cell_length)


def _laid(segment: Segment, style: Style) -> Segment:
    return Segment(segment.text, (segment.style or Style.null()) + style)


def draw_notice(words: str, style_of: StyleOf, *, ascii: bool) -> LogLine:  # noqa: A002 - named like the option
    """Draw words of our own."""
    style = style_of("notice")
    text = Strip([Segment(_drawable(words, ascii=ascii), style)])
    return LogLine(_gutter("", style), text, _ASCII_CUT if ascii else _CUT)


def _drawable(text: str, *, ascii: bool) -> str:  # noqa: A002 - named like the option
    """What a terminal without Unicode can show: bars of `#`, and other characters as escapes."""
    return text.translate(_BLOCKS).encode("ascii", "backslashreplace").decode() if ascii else text


def _without_date(parts: Parts) -> Parts:
    """`[2026-11-29 19:16:30 TP0] ` as `19:16:30 TP0 `."""
    time = _TIME_OF_DAY.search(parts.time)
    if time is None:
        return parts
    return parts._replace(time=time[0] if parts.ranks else f"{time[0]} ", ranks=parts.ranks.replace("]", ""))


def _gutter(sign: str, style: Style | None) -> Strip:
    return Strip([Segment(sign.ljust(GUTTER_CELLS), style)], GUTTER_CELLS)
