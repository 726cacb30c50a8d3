"""The last few news above the footer. They stay until they are read: at night nobody watches for a toast."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from tui.app.glyphs import Glyphs
from tui.app.notices import Kind, Notice, Trouble
from tui.app.widgets.text_line import TextLine

_STYLES = {Kind.WORKING: "$primary", Kind.DONE: "$success", Kind.NOTE: "$accent", Kind.PROBLEM: "$error"}


class NoticeLines(TextLine):
    """Takes no room when there is no news."""

    def show_notices(self, notices: Sequence[Notice], glyphs: Glyphs) -> None:
        """Show these, the newest last."""
        self.show(Content("\n").join(notice_content(notice, glyphs) for notice in notices))


def notice_content(notice: Notice, glyphs: Glyphs) -> Content:
    """A sign, what happened, and quieter what to do about it."""
    signs = {Kind.WORKING: glyphs.ellipsis, Kind.DONE: glyphs.done, Kind.NOTE: glyphs.dot, Kind.PROBLEM: glyphs.problem}
    hint = f"; {glyphs.plain(notice.hint)}" if notice.hint else ""
    style = _STYLES[notice.kind]
    strong = f"bold {style}" if notice.kind is Kind.PROBLEM else style
    return Content.assemble(" ", (signs[notice.kind], style), " ", (glyphs.plain(notice.text), strong), hint)


def trouble_line(trouble: Trouble | None, glyphs: Glyphs) -> Content:
    """That the figures on the screen are old, and why; nothing when they aren't."""
    if trouble is None:
        return Content()
    hint = f"; {glyphs.plain(trouble.hint)}" if trouble.hint else ""
    return Content.assemble((f" {glyphs.problem} No new figures: {glyphs.plain(trouble.what)}", "bold $error"), hint)
