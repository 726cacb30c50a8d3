"""Words in the place of what isn't there: no log, no budget, no finding."""

from __future__ import annotations

from textual.content import Content

from tui.app.glyphs import Glyphs
from tui.app.notices import Trouble
from tui.app.wrapping import wrapped
from tui.keeper.states import ALIVE, State
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
        return f"Its record can't be read, so nobody can tell what was launched: {glyphs.plain(broken.message)}"
    return "Nothing is selected. The launch form shows what a preset takes before it is launched."


def words_for_no_figures(one: Instance | None, absent: str, glyphs: Glyphs) -> str:
    """Why nobody tells what a server does; empty while it is asked."""
    if one is None:
        return absent
    if not one.local:
        return f"It was launched on {glyphs.plain(one.host)}: sgltui tells there what it does."
    if one.state is State.READY:
        return ""
    if one.state in ALIVE:
        return f"It is {one.state}: what it does, and what limits it, is told as soon as it is ready."
    return f"It has {'failed' if one.state is State.FAILED else 'ended'}: only a server that runs tells what it does."


def first_words(engine: str | Trouble | None, glyphs: Glyphs, key: str, width: int, *, read_only: bool) -> Content:
    """What can be done where nothing was launched yet.

    Args:
        engine: what would run a server, or why nothing would; None while that is looked for.
        glyphs: the signs of the screen.
        key: that launches.
        width: cells of a line.
        read_only: nothing can be launched from this screen.
    """
    if read_only:
        return Content.styled("No servers yet.", "$quiet")
    steps = [
        (key, "shows what a preset takes here before anything starts"),
        ("sgltui preset import", "makes a preset of the command line that you use today"),
        ("sgltui demo", "is this screen over simulated GPUs and servers"),
    ]
    cells = max(len(step) for step, _ in steps)
    lines = [Content.assemble((f"  {step:<{cells}}", "bold"), (f"  {words}", "$quiet")) for step, words in steps]
    head = Content.styled(f"No servers yet. Press {key} to launch one from a preset.", "$quiet")
    return Content("\n").join([head, *lines, *_engine_words(engine, width, glyphs)])


def _engine_words(engine: str | Trouble | None, width: int, glyphs: Glyphs) -> list[Content]:
    if engine is None:
        return []
    if isinstance(engine, Trouble):
        what = _hanging(glyphs.problem, engine.what, "$error", width, glyphs)
        return [*what, *(_hanging(" ", engine.hint, "$quiet", width, glyphs) if engine.hint else [])]
    return _hanging(glyphs.done, engine, "$quiet", width, glyphs)


def _hanging(sign: str, words: str, style: str, width: int, glyphs: Glyphs) -> list[Content]:
    """Lines that go on under their first word."""
    lines = wrapped(words, width - len(f"{sign} "), glyphs)
    return [Content.styled(f"{' ' if number else sign} {line}", style) for number, line in enumerate(lines)]
