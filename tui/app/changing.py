"""What changes the machine: asked for, confirmed, done, told. In read-only mode it all ends here."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

from textual.app import App
from textual.reactive import var
from textual.worker import Worker

from tui.app import actions
from tui.app.bridge import in_thread
from tui.app.command import READ_ONLY
from tui.app.core import Adjusted, Core
from tui.app.dialogues import ask_all
from tui.app.glyphs import Glyphs
from tui.app.keys import Keys
from tui.app.messages import (
    BackAsked,
    LaunchDialogue,
    LaunchWanted,
    PresetDraftWanted,
    PresetSaveWanted,
    RelaunchDialogue,
    RelaunchWanted,
    SaveAsked,
    StopAsked,
    TestWanted,
)
from tui.app.notices import Notice, Trouble, add_notice, is_passing, note, problem, trouble_of
from tui.app.screens.confirm import back_question, relaunch_question, stop_questions
from tui.app.screens.launch import LaunchScreen
from tui.app.screens.save_preset import SavePresetScreen
from tui.observe import Instance, Snapshot

_PASSING_S = 10.0  # how long a success is told


class ChangingApp(App[None]):
    """An app that can launch and stop.

    Attributes:
        keys: in force.
        is_read_only: nothing on the machine is changed.
    """

    snapshot: var[Snapshot | None] = var(None)
    notices: var[tuple[Notice, ...]] = var(())
    stopping: var[frozenset[str]] = var(frozenset[str]())
    wanted: var[str | None] = var(None, always_update=True)

    def __init__(self, core: Core, glyphs: Glyphs, keys: Keys, *, read_only: bool) -> None:
        super().__init__()
        self._core = core
        self._glyphs = glyphs
        self.keys = keys
        self.is_read_only = read_only

    def tell(self, news: Notice) -> None:
        """Show news above the footer."""
        self.notices = add_notice(self.notices, news)
        if is_passing(news):
            self.set_timer(_PASSING_S, partial(self._forget, news))

    def look_now(self) -> None:
        """Take a snapshot without waiting for the next second."""

    def may_change(self, dialogue: LaunchDialogue | RelaunchDialogue | None = None) -> bool:
        """Whether anything may be changed; if not, that is said."""
        if self.is_read_only:
            self.tell(note(READ_ONLY))
            if dialogue is not None:
                dialogue.refuse(Trouble(READ_ONLY))
        return not self.is_read_only

    def on_launch_wanted(self, message: LaunchWanted) -> None:
        """Launch it."""
        if self.may_change(message.dialogue):
            work = partial(actions.launch, self, self._core, message.request, message.dialogue)
            self._start("action", message.request.label, work)

    def on_stop_asked(self, message: StopAsked) -> None:
        """Ask whether it is meant."""
        if self.may_change():
            self._ask(partial(self._stop_dialogue, message.instance, kill=message.kill))

    def on_relaunch_wanted(self, message: RelaunchWanted) -> None:
        """Ask whether it is meant, if something runs; else do it."""
        if self.may_change(message.dialogue):
            self._ask(partial(self._relaunch_dialogue, message.about, message.dialogue))

    def on_test_wanted(self, message: TestWanted) -> None:
        """Send it one small request."""
        if self.may_change():
            name = message.instance.name
            self._start("test", name, partial(actions.smoke, self, self._core, message.instance))

    def on_save_asked(self, message: SaveAsked) -> None:
        """Ask for the preset's name."""
        if self.may_change() and not self._is_asking:
            self.push_screen(SavePresetScreen(message.instance, self._glyphs))

    def on_preset_draft_wanted(self, message: PresetDraftWanted) -> None:
        """Show what would be written."""
        self._start("preset", message.address, partial(actions.draft_preset, self._core, message))

    def on_preset_save_wanted(self, message: PresetSaveWanted) -> None:
        """Write it."""
        if self.may_change():
            about = message.draft.recorded.address
            self._start("preset", about, partial(actions.save_preset, self, self._core, message))

    def on_back_asked(self, message: BackAsked) -> None:
        """Look for what worked, and ask whether that is meant."""
        if self.may_change():
            self._ask(partial(self._back_dialogue, message.instance))

    async def _stop_dialogue(self, instance: Instance, *, kill: bool) -> None:
        questions = stop_questions(instance, self.snapshot, self._core.grace_s, kill=kill)
        if await ask_all(self, questions, self._glyphs):
            self._start("action", instance.name, partial(actions.stop, self, self._core, instance, kill=kill))

    async def _relaunch_dialogue(self, about: Adjusted, dialogue: RelaunchDialogue | None) -> None:
        running = self._in_the_way(about.name)
        if running is not None:
            question = relaunch_question(running, self.snapshot, self._core.grace_s)
            if not await ask_all(self, [question], self._glyphs):
                if dialogue is not None:
                    dialogue.refuse(Trouble(f"{about.name} goes on as it was"))
                return
        self._start("action", about.name, partial(actions.relaunch, self, self._core, about, dialogue))

    async def _back_dialogue(self, instance: Instance) -> None:
        worked = await in_thread(partial(self._core.last_worked, instance.name))
        running = self._in_the_way(instance.name)
        lines = [f"{line.sign} {line.text}" for line in worked.difference if line.sign != " "]
        questions = [back_question(instance.name, worked.about.launch, lines or ["nothing differs"])]
        if running is not None:
            questions.append(relaunch_question(running, self.snapshot, self._core.grace_s))
        if await ask_all(self, questions, self._glyphs):
            self._start("action", instance.name, partial(actions.relaunch, self, self._core, worked.about, None))

    def _in_the_way(self, name: str) -> Instance | None:
        """What has to go before the name can be launched again."""
        instances = self.snapshot.instances if self.snapshot is not None else ()
        return next((one for one in instances if one.name == name and one.local and one.members), None)

    def _forget(self, news: Notice) -> None:
        self.notices = tuple(notice for notice in self.notices if notice is not news)

    @property
    def _is_asking(self) -> bool:
        """A dialogue is open, or about to be."""
        asking = any(worker.group == "dialogue" and not worker.is_finished for worker in self.workers)
        return asking or isinstance(self.screen, LaunchScreen)

    def _ask(self, dialogue: Callable[[], Awaitable[None]]) -> None:
        """Start a dialogue, unless another one is open: a key pressed twice asks once."""
        if not self._is_asking:
            self._start("dialogue", "sgltui", dialogue)

    def _start(self, group: str, about: str, work: Callable[[], Awaitable[None]]) -> None:
        async def told() -> None:
            try:
                await work()
            except Exception as error:  # noqa: BLE001 whatever fails is told; nothing ends the app or vanishes
                self.tell(problem(about, trouble_of(error)))

        # The function, not its coroutine: an app that is ending starts no worker, and nobody would await that.
        _: Worker[None] = self.run_worker(told, group=group, exit_on_error=False)
