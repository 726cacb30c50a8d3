"""What changes the machine: each action says that it started, does its work in a thread, and tells how it ended."""

from __future__ import annotations

from functools import partial
from typing import Protocol

from tui.app.bridge import in_thread
from tui.app.core import Core, LaunchRequest
from tui.app.dialogues import Refused
from tui.app.notices import Kind, Notice, is_under_way, note, problem, stop_notice, trouble_of
from tui.app.words import Glyphs
from tui.errors import SgltuiError
from tui.observe import Instance, Snapshot


class Desk(Protocol):
    """What an action needs of the app."""

    snapshot: Snapshot | None
    notices: tuple[Notice, ...]
    stopping: frozenset[str]
    wanted: str | None

    def tell(self, news: Notice) -> None:
        """Show news above the footer."""
        ...

    def look_now(self) -> None:
        """Take a snapshot without waiting for the next second."""
        ...

    def ask_launch(self, refused: Refused | None) -> None:
        """Open the launch form."""
        ...


async def launch(desk: Desk, core: Core, request: LaunchRequest) -> None:
    """Launch once; a refusal comes back in the form, with what was typed."""
    about = request.label
    if is_under_way(desk.notices, about):
        desk.tell(note(f"{about} is being launched already"))
        return
    desk.tell(Notice(about, Kind.WORKING, f"launching {about}"))
    try:
        started = await in_thread(partial(core.launch, request))
    except SgltuiError as error:
        desk.tell(problem(about, trouble_of(error)))
        desk.ask_launch(Refused(request, trouble_of(error)))
        return
    desk.tell(Notice(about, Kind.DONE, f"launched {started}"))
    desk.wanted = started.partition("/")[0]
    desk.look_now()


async def stop(desk: Desk, core: Core, instance: Instance, glyphs: Glyphs, *, kill: bool) -> None:
    """Stop or kill the very launch that was asked about."""
    name = instance.name
    now = desk.snapshot.instances if desk.snapshot is not None else ()
    if not any(one.name == name and one.launch == instance.launch for one in now):
        desk.tell(Notice(name, Kind.PROBLEM, f"{name} was launched anew meanwhile: nothing was done to it"))
        return
    desk.tell(Notice(name, Kind.WORKING, f"{'killing' if kill else 'stopping'} {name}"))
    desk.stopping |= {name}
    try:
        outcome = await in_thread(partial(core.stop, name, kill=kill))
    finally:
        desk.stopping -= {name}
    desk.tell(stop_notice(outcome, glyphs, kill=kill))
    desk.look_now()
