"""Words in the place of what isn't there: no log, no budget, no finding."""

from __future__ import annotations

from tui.app.glyphs import Glyphs
from tui.observe import BrokenRecord, Instance, Snapshot


def words_for_no_log(snapshot: Snapshot | None, broken: BrokenRecord | None, glyphs: Glyphs) -> str:
    """Why no log is shown."""
    if snapshot is None:
        return f"reading{glyphs.ellipsis}"
    return "no log" if broken is None else glyphs.plain(broken.message)


def words_for_no_budget(
    one: Instance | None, snapshot: Snapshot | None, broken: BrokenRecord | None, glyphs: Glyphs
) -> str:
    """Why nobody asks for a budget or a finding."""
    if snapshot is None:
        return f"reading{glyphs.ellipsis}"
    if one is not None:
        host = glyphs.plain(one.host)
        return f"It was launched on {host}, and its GPUs can't be seen from here: sgltui tells its budget there."
    if broken is not None:
        return "Its record can't be read, so nobody can tell what was launched."
    return "Nothing is selected. The launch form shows what a preset takes before it is launched."
