"""What changes the machine: each action says that it started, does its work in a thread, and tells how it ended."""

from __future__ import annotations

from functools import partial
from typing import Protocol

from tui.app.bridge import in_thread
from tui.app.commands.dashboard import GO_BACK
from tui.app.core import Adjusted, Core, LaunchRequest
from tui.app.keys import Keys
from tui.app.messages import (
    GpuChoicesAsked,
    LaunchDialogue,
    PresetDraftWanted,
    PresetSaveWanted,
    RelaunchDialogue,
)
from tui.app.notices import (
    Kind,
    Notice,
    Trouble,
    is_under_way,
    problem,
    smoke_notice,
    stop_notice,
    trouble_of,
    without,
)
from tui.observe import Instance, Snapshot

_REFUSED_LAUNCH = "a refused launch"  # subject of its news: the next attempt takes it away, whatever its name is


class Desk(Protocol):
    """What an action needs of the app."""

    keys: Keys
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


async def launch(desk: Desk, core: Core, request: LaunchRequest, dialogue: LaunchDialogue) -> None:
    """Launch once; a refusal stands in the dialogue, beside what was typed."""
    about = request.label
    if is_under_way(desk.notices, about):
        dialogue.refuse(Trouble(f"{about} is being launched already"))
        return
    desk.notices = without(desk.notices, _REFUSED_LAUNCH)
    desk.tell(Notice(about, Kind.WORKING, f"launching {about}"))
    dialogue.say_launching(request)
    try:
        started = await in_thread(partial(core.launch, request))
    except Exception as error:  # noqa: BLE001 whatever fails is told, and the dialogue must not wait for ever
        desk.notices = without(desk.notices, about)
        desk.tell(problem(_REFUSED_LAUNCH, trouble_of(error)))
        dialogue.refuse(trouble_of(error))
        return
    desk.tell(Notice(about, Kind.DONE, f"launched {started}"))
    dialogue.close()
    desk.wanted = started.partition("/")[0]
    desk.look_now()


async def relaunch(desk: Desk, core: Core, about: Adjusted, dialogue: RelaunchDialogue | None) -> None:
    """Put a launch in the place of another one; a refusal stands in the dialogue, too, beside what was changed."""
    name = about.name
    if is_under_way(desk.notices, name):
        _refuse(dialogue, Trouble(f"something is under way with {name} already"))
        return
    desk.tell(Notice(name, Kind.WORKING, f"relaunching {name}"))
    if dialogue is not None:
        dialogue.say_launching(about)
    desk.stopping |= {name}
    try:
        started = await in_thread(partial(core.relaunch, about))
    except Exception as error:  # noqa: BLE001 whatever fails is told, and the dialogue must not wait for ever
        desk.tell(problem(name, trouble_of(error)))
        _refuse(dialogue, trouble_of(error))
    else:
        key = desk.keys.first(GO_BACK)
        way = f"; if it fails, {key} goes back to what worked" if key else ""
        desk.tell(Notice(name, Kind.DONE, f"launched {started}{way}"))
        desk.wanted = name
        if dialogue is not None:
            dialogue.close()
    finally:
        desk.stopping -= {name}
        desk.look_now()


def _refuse(dialogue: RelaunchDialogue | None, trouble: Trouble) -> None:
    if dialogue is not None:
        dialogue.refuse(trouble)


async def draft_preset(core: Core, wanted: PresetDraftWanted) -> None:
    """Show in the dialogue what saving would write."""
    try:
        draft = await in_thread(partial(core.draft_preset, wanted.address, wanted.name))
    except Exception as error:  # noqa: BLE001 whatever fails is told
        wanted.dialogue.refuse(trouble_of(error))
    else:
        wanted.dialogue.show_draft(draft)


async def save_preset(desk: Desk, core: Core, wanted: PresetSaveWanted) -> None:
    """Write what was shown; where it went is told, and where the earlier version is."""
    path = wanted.draft.file.path
    try:
        kept = await in_thread(partial(core.save_preset, wanted.draft))
    except Exception as error:  # noqa: BLE001 whatever fails is told
        wanted.dialogue.refuse(trouble_of(error))
        return
    wanted.dialogue.close()
    earlier = f"; the earlier version is {kept.name}" if kept is not None else ""
    desk.tell(Notice(f"preset {path.stem}", Kind.DONE, f"saved as preset {path.stem}{earlier}", str(path)))


async def compare_gpus(core: Core, asked: GpuChoicesAsked) -> None:
    """Plan a launch on each choice of GPUs; what fails is told in the place of the answer."""
    try:
        choices = await in_thread(partial(core.gpu_choices, asked.about, asked.gpus))
    except Exception as error:  # noqa: BLE001 whatever fails is told
        asked.dialogue.show_choices((), trouble_of(error).what)
    else:
        asked.dialogue.show_choices(choices)


async def smoke(desk: Desk, core: Core, instance: Instance) -> None:
    """Send one small request; how it was answered is told, and kept beside the launch."""
    name = instance.name
    about = f"a test of {name}"
    if is_under_way(desk.notices, about):
        return
    desk.tell(Notice(about, Kind.WORKING, f"testing {name}"))
    try:
        result = await in_thread(partial(core.smoke, f"{name}/{instance.launch}"))
    except Exception as error:  # noqa: BLE001 whatever fails is told
        desk.tell(problem(about, trouble_of(error)))
        return
    desk.tell(smoke_notice(name, about, result))


async def stop(desk: Desk, core: Core, instance: Instance, *, kill: bool) -> None:
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
    desk.tell(stop_notice(outcome, kill=kill))
    desk.look_now()
