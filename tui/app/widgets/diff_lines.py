"""Two command lines compared: what goes, what comes, and if wanted what stays."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from tui.app.glyphs import Glyphs
from tui.app.wrapping import wrapped
from tui.sglang.edit import DiffLine

_STYLES = {"-": "$error", "+": "$success", " ": "$quiet"}
_NOTHING = "nothing is changed: the same flags again"


def diff_lines(difference: Sequence[DiffLine], width: int, glyphs: Glyphs, *, whole: bool = False) -> list[Content]:
    """A line a flag, no wider than `width` cells; without what stays unless the `whole` of it is wanted."""
    shown = [line for line in difference if whole or line.sign != " "]
    if not shown:
        return [Content.styled(_NOTHING, "$quiet")]
    return [part for line in shown for part in _lines(line, width, glyphs)]


def _lines(line: DiffLine, width: int, glyphs: Glyphs) -> list[Content]:
    pieces = wrapped(line.text, width - len("+ "), glyphs)
    signs = [f"{line.sign} ", *["  "] * (len(pieces) - 1)]
    return [Content.styled(sign + piece, _STYLES[line.sign]) for sign, piece in zip(signs, pieces, strict=True)]
