"""Wiring: the core, the sampler, the dashboard, and what happens when a person asks for something."""

from __future__ import annotations

import os
import threading
from collections.abc import Awaitable, Callable
from functools import partial

from rich.text import Text
from textual import events
from textual.app import App
from textual.reactive import var
from textual.screen import Screen
from textual.worker import Worker

from tui.app import actions, theme
from tui.app.bridge import Sampler, in_thread
from tui.app.budgets import BudgetAnswer
from tui.app.command import READ_ONLY
from tui.app.core import Adjusted, Core, Editable
from tui.app.dialogues import ask_all
from tui.app.findings import ExplanationAnswer, ExplanationQuestion
from tui.app.glyphs import ASCII, UNICODE
from tui.app.inquiry import Inquiry
from tui.app.messages import (
    AdjustAsked,
    BackAsked,
    BudgetAsked,
    Explained,
    ExplanationAsked,
    HistoryDialogue,
    HistoryWanted,
    LaunchWanted,
    NoticesRead,
    PresetsChanged,
    RelaunchDialogue,
    RelaunchWanted,
    ReportWanted,
    SnapshotFailed,
    SnapshotTaken,
    StopAsked,
    TestWanted,
)
from tui.app.notices import Notice, Trouble, add_notice, is_passing, note, problem, trouble_of, unfinished
from tui.app.planner import Planner
from tui.app.screens.adjust import AdjustScreen
from tui.app.screens.confirm import back_question, leave_question, relaunch_question, stop_questions
from tui.app.screens.dashboard import Dashboard
from tui.app.screens.launch import LaunchScreen
from tui.app.widgets.log_prompt import take_typed_ahead
from tui.app.words import farewell
from tui.observe import Instance, Snapshot

_PASSING_S = 10.0  # how long a success is told
_FAREWELL_S = 1.0  # as long is waited for a last look on leaving

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
        "screens/adjust.tcss",
        "screens/dialog.tcss",
    ]

    COMMANDS = set()  # noqa: RUF012 Textual declares the type; its own commands have keys here, or write files

    snapshot: var[Snapshot | None] = var(None)
    trouble: var[Trouble | None] = var(None)
    budget: var[BudgetAnswer | None] = var(None)
    explanation: var[ExplanationAnswer | None] = var(None, always_update=True)
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
        self._planner = Planner(core, self._show_budget)
        self._ended = threading.Event()
        self._inquiry = Inquiry(core, self._show_explanation)
        for one in theme.THEMES:
            self.register_theme(one)
        self.theme = theme.default_theme(os.environ, self.available_themes)

    def get_default_screen(self) -> Screen[None]:
        """The dashboard, bound to this app's state."""
        return Dashboard(self._where, self._glyphs, read_only=self._read_only).data_bind(
            SgltuiApp.snapshot,
            SgltuiApp.trouble,
            SgltuiApp.budget,
            SgltuiApp.explanation,
            SgltuiApp.notices,
            SgltuiApp.stopping,
            SgltuiApp.wanted,
        )

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Our colours, for themes that know nothing of them."""
        return theme.own_variables()

    def on_mount(self) -> None:
        """Start to look."""
        self._sampler.start()
        watching = (self._ended, lambda: self.post_message(PresetsChanged()))
        threading.Thread(target=self._core.watch_presets, args=watching, name="presets", daemon=True).start()
        self.set_interval(1.0, self._watch_sampler)

    def on_unmount(self) -> None:
        """Stop looking, and let go of the driver unless a reading hangs in it."""
        self._ended.set()
        if self._sampler.stop():
            self._core.close()

    def on_snapshot_taken(self, message: SnapshotTaken) -> None:
        """The machine looks different."""
        self.trouble = None
        self.snapshot = message.snapshot

    def on_snapshot_failed(self, message: SnapshotFailed) -> None:
        """The figures on the screen are old now."""
        self.trouble = message.trouble

    def on_budget_asked(self, message: BudgetAsked) -> None:
        """Work it out, after the one that is being worked on."""
        if self._planner.ask(message.question):
            self._start("budget", "the budget", self._planner.work)

    def on_explanation_asked(self, message: ExplanationAsked) -> None:
        """Look into its log, after the look that is under way."""
        if self._inquiry.ask(message.question):
            self._start("explanation", "the explanation", self._inquiry.work)

    def on_report_wanted(self, message: ReportWanted) -> None:
        """Write it, and give it to the terminal's clipboard."""
        self._start("report", "the report", partial(self._copy_report, message.question))

    def on_history_wanted(self, message: HistoryWanted) -> None:
        """Look into the logs of all attempts."""
        self._start("history", message.dialogue.about, partial(self._read_history, message.dialogue))

    def on_explained(self, message: Explained) -> None:
        """Why a key did nothing."""
        self.tell(note(message.why))

    def on_notices_read(self, _: NoticesRead) -> None:
        """Take them away; what is under way stays."""
        self.notices = unfinished(self.notices)

    def on_launch_wanted(self, message: LaunchWanted) -> None:
        """Launch it."""
        work = partial(actions.launch, self, self._core, message.request, message.dialogue)
        self._start("action", message.request.label, work)

    def on_presets_changed(self) -> None:
        """The form, if it is open, lists what is there now."""
        if isinstance(self.screen, LaunchScreen):
            self._start("presets", "presets", partial(self._read_presets, self.screen))

    def on_stop_asked(self, message: StopAsked) -> None:
        """Ask whether it is meant."""
        self._ask(partial(self._stop_dialogue, message.instance, kill=message.kill))

    def on_adjust_asked(self, message: AdjustAsked) -> None:
        """Open the flag editor."""
        if not self._is_asking:
            screen = AdjustScreen(message.about, self._glyphs, read_only=self._read_only, offers=message.offers)
            self.push_screen(screen.data_bind(SgltuiApp.snapshot, SgltuiApp.budget))
            self._start("sheet", message.about.label, partial(self._read_sheet, screen, message.about))

    def on_relaunch_wanted(self, message: RelaunchWanted) -> None:
        """Ask whether it is meant, if something runs; else do it."""
        self._ask(partial(self._relaunch_dialogue, message.about, message.dialogue))

    def on_test_wanted(self, message: TestWanted) -> None:
        """Send it one small request."""
        name = message.instance.name
        self._start("test", name, partial(actions.smoke, self, self._core, message.instance))

    def on_back_asked(self, message: BackAsked) -> None:
        """Look for what worked, and ask whether that is meant."""
        self._ask(partial(self._back_dialogue, message.instance))

    def on_key(self, event: events.Key) -> None:
        """A key that was typed ahead of the launch form waits for it, instead of acting on what is there now."""
        if isinstance(self.screen, LaunchScreen) and self.screen.hold(event):
            event.prevent_default()
        else:
            take_typed_ahead(self, event)

    def action_launch(self) -> None:
        """Open the launch form here and now, not by a message: the next key is meant for it."""
        if self._read_only:
            self.tell(note(READ_ONLY))
        elif not self._is_asking:
            screen = LaunchScreen(self._glyphs).data_bind(SgltuiApp.snapshot, SgltuiApp.budget)
            self.push_screen(screen)
            self._start("presets", "presets", partial(self._read_presets, screen))

    async def action_quit(self) -> None:
        """Leave; asks first while something is under way."""
        self._ask(self._leave)

    def action_help_quit(self) -> None:
        """Ctrl-C, which ends other programs: say how to leave this one."""
        self.tell(note("q leaves; servers go on running"))

    def look_now(self) -> None:
        """Take a snapshot without waiting for the next second."""
        self._sampler.look_now()

    def tell(self, news: Notice) -> None:
        """Show news above the footer."""
        self.notices = add_notice(self.notices, news)
        if is_passing(news):
            self.set_timer(_PASSING_S, partial(self._forget, news))

    def _show_budget(self, answer: BudgetAnswer) -> None:
        self.budget = answer

    def _show_explanation(self, answer: ExplanationAnswer) -> None:
        self.explanation = answer

    async def _copy_report(self, question: ExplanationQuestion) -> None:
        name = question.about.name
        report = await in_thread(partial(self._core.report, question.about, question.gpus))
        self.copy_to_clipboard(report)
        self.tell(note(f"copied a report on {name}, secrets left out, where the terminal allows it"))

    async def _read_history(self, dialogue: HistoryDialogue) -> None:
        try:
            dialogue.fill(await in_thread(partial(self._core.attempts_at, dialogue.about)))
        except Exception as error:  # noqa: BLE001 whatever fails is told where the attempts would be
            dialogue.refuse(trouble_of(error))

    def _forget(self, news: Notice) -> None:
        self.notices = tuple(notice for notice in self.notices if notice is not news)

    async def _read_presets(self, screen: LaunchScreen) -> None:
        try:
            presets, problems = await in_thread(self._core.presets)
        except Exception:
            screen.close()
            raise
        await screen.fill(presets, problems, self.snapshot.instances if self.snapshot is not None else ())

    async def _stop_dialogue(self, instance: Instance, *, kill: bool) -> None:
        questions = stop_questions(instance, self.snapshot, self._core.grace_s, kill=kill)
        if await ask_all(self, questions, self._glyphs):
            self._start("action", instance.name, partial(actions.stop, self, self._core, instance, kill=kill))

    async def _read_sheet(self, screen: AdjustScreen, about: Editable) -> None:
        try:
            sheet = await in_thread(partial(self._core.sheet, about, ask=False))
            screen.fill(sheet)
            if not sheet.is_own:  # meanwhile the recorded flags do; the installation's own come with their help
                screen.fill(await in_thread(partial(self._core.sheet, about, ask=True)))
        except Exception:
            screen.close()
            raise

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

    async def _leave(self) -> None:
        busy = [notice.text for notice in unfinished(self.notices)]
        if busy and not await ask_all(self, [leave_question(busy)], self._glyphs):
            return
        newest = await in_thread(partial(self._sampler.look_fresh, _FAREWELL_S))
        words = farewell(newest, self._glyphs)
        self.exit(message=Text(words) if words else None)

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

    def _watch_sampler(self) -> None:
        """Figures that stand still because the reader hangs must not look like news."""
        if self._sampler.is_stalled:
            self.trouble = _STALLED
        elif self.trouble is _STALLED:
            self.trouble = None
