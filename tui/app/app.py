"""Wiring: the core, the sampler, the dashboard, and what happens when a person asks for something."""

from __future__ import annotations

import os
from collections.abc import Coroutine
from typing import Any

from rich.text import Text
from textual.app import App
from textual.reactive import var
from textual.screen import Screen

from tui.app import actions, theme
from tui.app.bridge import Sampler
from tui.app.core import Core
from tui.app.dialogues import Refused, ask_launch, ask_leave, ask_stop
from tui.app.messages import Explained, LaunchAsked, NoticesRead, SnapshotFailed, SnapshotTaken, StopAsked
from tui.app.notices import Notice, Trouble, add_notice, note, problem, trouble_of, unfinished
from tui.app.screens.dashboard import Dashboard
from tui.app.words import ASCII, UNICODE, farewell
from tui.observe import Instance, Snapshot

_STALLED = Trouble("the machine hasn't answered for seconds", "the GPU driver may hang: does nvidia-smi answer?")


class SgltuiApp(App[None]):
    """The terminal UI over a core. Owns the state; screens bind to it and ask by messages.

    Args:
        where: what the title line calls this machine.
    """

    TITLE = "sgltui"
    # Here and not on the screens: Textual doesn't load the style sheet of a default screen.
    CSS_PATH = [  # noqa: RUF012 Textual declares the type
        "screens/dashboard.tcss",
        "screens/dialog.tcss",
    ]

    COMMANDS = set()  # noqa: RUF012 Textual declares the type; its own commands have keys here, or write files

    snapshot: var[Snapshot | None] = var(None)
    trouble: var[Trouble | None] = var(None)
    notices: var[tuple[Notice, ...]] = var(())
    stopping: var[frozenset[str]] = var(frozenset[str]())
    wanted: var[str | None] = var(None, always_update=True)

    def __init__(self, core: Core, *, where: str, read_only: bool = False, ascii_only: bool = False) -> None:
        super().__init__()
        self.animation_level = "none"
        self._core = core
        self._where = where
        self._read_only = read_only
        self._glyphs = ASCII if ascii_only else UNICODE
        self._sampler = Sampler(core.snapshot, self.post_message)
        for one in theme.THEMES:
            self.register_theme(one)
        self.theme = theme.default_theme(os.environ, self.available_themes)

    def get_default_screen(self) -> Screen[None]:
        """The dashboard, bound to this app's state."""
        return Dashboard(self._where, self._glyphs, read_only=self._read_only).data_bind(
            SgltuiApp.snapshot, SgltuiApp.trouble, SgltuiApp.notices, SgltuiApp.stopping, SgltuiApp.wanted
        )

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Our colours, for themes that know nothing of them."""
        return theme.own_variables()

    def on_mount(self) -> None:
        """Start to look."""
        self._sampler.start()
        self.set_interval(1.0, self._watch_sampler)

    def on_unmount(self) -> None:
        """Stop looking, and let go of the driver unless a reading hangs in it."""
        if self._sampler.stop():
            self._core.close()

    def on_snapshot_taken(self, message: SnapshotTaken) -> None:
        """The machine looks different."""
        self.trouble = None
        self.snapshot = message.snapshot

    def on_snapshot_failed(self, message: SnapshotFailed) -> None:
        """The figures on the screen are old now."""
        self.trouble = message.trouble

    def on_explained(self, message: Explained) -> None:
        """Why a key did nothing."""
        self.tell(note(message.why))

    def on_notices_read(self, _: NoticesRead) -> None:
        """Take them away; what is under way stays."""
        self.notices = unfinished(self.notices)

    def on_launch_asked(self, _: LaunchAsked) -> None:
        """Ask what to launch."""
        self.ask_launch(None)

    def on_stop_asked(self, message: StopAsked) -> None:
        """Ask whether it is meant."""
        self._ask(self._stop_dialogue(message.instance, kill=message.kill))

    async def action_quit(self) -> None:
        """Leave; asks first while something is under way."""
        self._ask(self._leave())

    def action_help_quit(self) -> None:
        """Ctrl-C, which ends other programs: say how to leave this one."""
        self.tell(note("q leaves; servers go on running"))

    def ask_launch(self, refused: Refused | None) -> None:
        """Open the launch form, empty or with what was refused."""
        self._ask(self._launch_dialogue(refused))

    def look_now(self) -> None:
        """Take a snapshot without waiting for the next second."""
        self._sampler.look_now()

    def tell(self, news: Notice) -> None:
        """Show news above the footer."""
        self.notices = add_notice(self.notices, news)

    async def _launch_dialogue(self, refused: Refused | None) -> None:
        request = await ask_launch(self, self._core, self.snapshot, self._glyphs, refused)
        if request is not None:
            self._start("action", request.label, actions.launch(self, self._core, request))

    async def _stop_dialogue(self, instance: Instance, *, kill: bool) -> None:
        if await ask_stop(self, instance, self.snapshot, self._glyphs, kill=kill):
            work = actions.stop(self, self._core, instance, self._glyphs, kill=kill)
            self._start("action", instance.name, work)

    async def _leave(self) -> None:
        busy = [notice.text for notice in unfinished(self.notices)]
        if busy and not await ask_leave(self, busy, self._glyphs):
            return
        words = farewell(self.snapshot.instances if self.snapshot is not None else (), self._glyphs)
        self.exit(message=Text(words) if words else None)

    def _ask(self, dialogue: Coroutine[Any, Any, None]) -> None:
        """Start a dialogue, unless another one is open: a key pressed twice asks once."""
        if any(worker.group == "dialogue" and not worker.is_finished for worker in self.workers):
            dialogue.close()
        else:
            self._start("dialogue", "sgltui", dialogue)

    def _start(self, group: str, about: str, work: Coroutine[Any, Any, None]) -> None:
        async def told() -> None:
            try:
                await work
            except Exception as error:  # noqa: BLE001 whatever fails is told; nothing ends the app or vanishes
                self.tell(problem(about, trouble_of(error)))

        self.run_worker(told(), group=group, exit_on_error=False)

    def _watch_sampler(self) -> None:
        """Figures that stand still because the reader hangs must not look like news."""
        if self._sampler.is_stalled:
            self.trouble = _STALLED
        elif self.trouble is _STALLED:
            self.trouble = None
