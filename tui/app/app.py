"""Wiring: the core, the sampler, the screens, and what of all that a person sees."""

from __future__ import annotations

import os
import threading
from functools import partial
from time import monotonic
from typing import Any, ClassVar

from rich.console import RenderableType
from rich.text import Text
from textual import events
from textual._compositor import ChopsUpdate, LayoutUpdate
from textual.binding import BindingType
from textual.driver import Driver
from textual.reactive import var
from textual.screen import Screen

from tui.app import colors
from tui.app.actions import compare_gpus
from tui.app.advice import AdviceAnswer
from tui.app.advisor import Advisor
from tui.app.arranging import ArrangingApp
from tui.app.bridge import PERIOD_S, Sampler, in_thread
from tui.app.budgets import BudgetAnswer
from tui.app.command import bindings
from tui.app.commands.general import PALETTE, QUIT, REDRAW
from tui.app.core import Core, Editable
from tui.app.dialogues import ask_all
from tui.app.findings import ExplanationAnswer, ExplanationQuestion
from tui.app.glyphs import ASCII, UNICODE
from tui.app.here import usable
from tui.app.inquiry import Inquiry
from tui.app.layout import LayoutFile
from tui.app.link import Link
from tui.app.messages import (
    AdjustAsked,
    AdviceAsked,
    BudgetAsked,
    EngineAsked,
    Explained,
    ExplanationAsked,
    GpuChoicesAsked,
    HistoryDialogue,
    HistoryWanted,
    NoticesRead,
    PresetsChanged,
    ReportWanted,
    SnapshotFailed,
    SnapshotTaken,
)
from tui.app.notices import Trouble, note, trouble_of, unfinished
from tui.app.opening import Opening
from tui.app.palette import CommandPalette
from tui.app.picture import Picture
from tui.app.planner import Planner
from tui.app.preferences import Preferences
from tui.app.screens.adjust import AdjustScreen
from tui.app.screens.confirm import leave_question
from tui.app.screens.dashboard import Dashboard
from tui.app.screens.help import HelpScreen
from tui.app.screens.launch import LaunchScreen
from tui.app.steady import Steady
from tui.app.widgets.log_prompt import take_typed_ahead
from tui.app.words import farewell
from tui.errors import SgltuiError
from tui.observe import Snapshot

_HELP = "help"
_BLURRED_PERIOD_S = 3.0
_FIRST_LOOK_S = 0.3
_FAREWELL_S = 1.0  # as long is waited for a last look on leaving

_STALLED = Trouble("the machine hasn't answered for seconds", "the GPU driver may hang: does nvidia-smi answer?")


class SgltuiApp(ArrangingApp):
    """The terminal UI over a core. Owns the state; screens bind to it and ask by messages.

    Args:
        where: what the title line calls this machine.
        preferences: keys, theme and the like, as a person set them.
        layout_file: where it is kept how a person arranges the screen; None: nowhere.
        opening: of the terminal; None: it isn't on a screen of ours yet.
    """

    TITLE = "sgltui"
    # Here and not on the screens: Textual doesn't load the style sheet of a default screen.
    CSS_PATH = [  # noqa: RUF012 Textual declares the type
        "screens/dashboard.tcss",
        "screens/adjust.tcss",
        "screens/dialog.tcss",
    ]

    # Not Textual's own: what of those is of use has keys here; the others write files.
    COMMANDS = {CommandPalette}  # noqa: RUF012 Textual declares the type
    BINDINGS: ClassVar[list[BindingType]] = [*bindings([PALETTE, REDRAW])]

    trouble: var[Trouble | None] = var(None)
    budget: var[BudgetAnswer | None] = var(None)
    explanation: var[ExplanationAnswer | None] = var(None, always_update=True)
    advice: var[AdviceAnswer | None] = var(None)
    engine: var[str | Trouble | None] = var(None)

    def __init__(
        self,
        core: Core,
        *,
        where: str,
        read_only: bool = False,
        ascii_only: bool = False,
        preferences: Preferences | None = None,
        layout_file: LayoutFile | None = None,
        opening: Opening | None = None,
    ) -> None:
        glyphs = ASCII if ascii_only else UNICODE
        super().__init__(core, glyphs, preferences or Preferences(), layout_file, where=where, read_only=read_only)
        self.animation_level = "none"
        self._where = where
        self.link = Link(is_remote="SSH_CONNECTION" in os.environ)
        self.set_class(self.link.is_remote, "-over-ssh")
        self.picture = Picture()
        self.opening = opening
        self._sampler = Sampler(Steady(core.snapshot), self.post_message)
        self._shown_at = 0.0
        self._unshown: Snapshot | None = None  # seen, and not shown as long as the terminal is behind
        self._planner = Planner(core, self._show_budget)
        self._ended = threading.Event()
        self._inquiry = Inquiry(core, self._show_explanation)
        self._advisor = Advisor(core, self._show_advice)

    def get_driver_class(self) -> type[Driver]:
        """Textual's own, with an eye on the link; a browser's and a test's are left as they are."""
        found = super().get_driver_class()
        from textual.drivers.linux_driver import LinuxDriver  # noqa: PLC0415 - a terminal's alone needs it

        from tui.app.driver import LinkedDriver  # noqa: PLC0415 - likewise

        return LinkedDriver if found is LinuxDriver else found

    def _display(self, screen: Screen[Any], renderable: RenderableType | None) -> None:
        """Send to the terminal what it doesn't show yet; Textual has no other place to ask for that."""
        if isinstance(renderable, LayoutUpdate | ChopsUpdate):
            renderable = self.picture.changes(renderable)
        super()._display(screen, renderable)

    def on_resize(self) -> None:
        """The terminal has moved what it showed, nobody knows where to."""
        self.picture.forget()

    def action_redraw(self) -> None:
        """Paint all of it, whatever the terminal shows."""
        self.picture.forget()
        self.screen.refresh()

    def get_default_screen(self) -> Screen[None]:
        """The dashboard, bound to this app's state."""
        return Dashboard(self._where, self._glyphs, self.arrangement, self.link, read_only=self.is_read_only).data_bind(
            SgltuiApp.snapshot,
            SgltuiApp.trouble,
            SgltuiApp.budget,
            SgltuiApp.explanation,
            SgltuiApp.advice,
            SgltuiApp.engine,
            SgltuiApp.notices,
            SgltuiApp.stopping,
            SgltuiApp.wanted,
        )

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Our colours, for themes that know nothing of them."""
        return colors.own_variables()

    async def on_load(self) -> None:
        """Start to look, and wait a moment for what is seen: an empty screen before it costs as much as a full one."""
        self._sampler.start()
        self.snapshot = await in_thread(partial(self._sampler.look_first, _FIRST_LOOK_S))

    def on_mount(self) -> None:
        """Watch what isn't looked at."""
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
        self._unshown = message.snapshot
        self._show_newest()
        self.tell_news(message.snapshot)

    def on_snapshot_failed(self, message: SnapshotFailed) -> None:
        """The figures on the screen are old now."""
        self._unshown = None
        self.trouble = message.trouble

    def watch_app_focus(self, focused: bool) -> None:
        """Another window has the keys: look and paint less often, and at once when they are back."""
        self.link.is_blurred = not focused
        self._sampler.period_s = PERIOD_S if focused else _BLURRED_PERIOD_S
        if focused:
            self.look_now()

    def on_budget_asked(self, message: BudgetAsked) -> None:
        """Work it out, after the one that is being worked on."""
        if self._planner.ask(message.question):
            self._start("budget", "the budget", self._planner.work)

    def on_gpu_choices_asked(self, message: GpuChoicesAsked) -> None:
        """Plan for each."""
        self._start("choices", message.about.label, partial(compare_gpus, self._core, message))

    def on_explanation_asked(self, message: ExplanationAsked) -> None:
        """Look into its log, after the look that is under way."""
        if self._inquiry.ask(message.question):
            self._start("explanation", "the explanation", self._inquiry.work)

    def on_advice_asked(self, message: AdviceAsked) -> None:
        """Ask what limits it, after the question that is under way."""
        if self._advisor.ask(message.question):
            self._start("advice", "what limits it", self._advisor.work)

    def on_engine_asked(self, _: EngineAsked) -> None:
        """Look for it."""
        self._start("engine", "SGLang", self._find_engine)

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

    def on_presets_changed(self) -> None:
        """The form, if it is open, lists what is there now."""
        if isinstance(self.screen, LaunchScreen):
            self._start("presets", "presets", partial(self._read_presets, self.screen))

    def on_adjust_asked(self, message: AdjustAsked) -> None:
        """Open the flag editor."""
        if not self._is_asking:
            screen = AdjustScreen(message.about, self._glyphs, read_only=self.is_read_only, offers=message.offers)
            self.push_screen(screen.data_bind(SgltuiApp.snapshot, SgltuiApp.budget))
            self._start("sheet", message.about.label, partial(self._read_sheet, screen, message.about))

    def on_key(self, event: events.Key) -> None:
        """A key that was typed ahead of the launch form waits for it, instead of acting on what is there now."""
        if isinstance(self.screen, LaunchScreen) and self.screen.hold(event):
            event.prevent_default()
        else:
            take_typed_ahead(self, event)

    def action_launch(self) -> None:
        """Open the launch form here and now, not by a message: the next key is meant for it."""
        if self.may_change() and not self._is_asking:
            screen = LaunchScreen(self._glyphs).data_bind(SgltuiApp.snapshot, SgltuiApp.budget)
            self.push_screen(screen)
            self._start("presets", "presets", partial(self._read_presets, screen))

    def action_show_help(self) -> None:
        """What can be done where the keys are now."""
        if not isinstance(self.screen, HelpScreen):
            if not self.is_screen_installed(_HELP):  # once: to make it takes half of the time until it is seen
                self.install_screen(HelpScreen(self._glyphs), _HELP)
            page = self.get_screen(_HELP, HelpScreen)
            page.tell(usable(self.screen))
            self.push_screen(page)

    async def action_quit(self) -> None:
        """Leave; asks first while something is under way."""
        self._ask(self._leave)

    def action_help_quit(self) -> None:
        """Ctrl-C, which ends other programs: say how to leave this one."""
        self.tell(note(f"{self.keys.first(QUIT) or 'ctrl-Q'} leaves; servers go on running"))

    def look_now(self) -> None:
        """Take a snapshot without waiting for the next second."""
        self._sampler.look_now()

    def _show_budget(self, answer: BudgetAnswer) -> None:
        self.budget = answer

    def _show_explanation(self, answer: ExplanationAnswer) -> None:
        self.explanation = answer

    def _show_advice(self, answer: AdviceAnswer) -> None:
        self.advice = answer

    async def _find_engine(self) -> None:
        try:
            self.engine = await in_thread(self._core.engine)
        except SgltuiError as error:
            self.engine = trouble_of(error)

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

    async def _read_presets(self, screen: LaunchScreen) -> None:
        try:
            presets, problems = await in_thread(self._core.presets)
            standings = await in_thread(partial(self._core.standings, presets))
        except Exception:
            screen.close()
            raise
        instances = self.snapshot.instances if self.snapshot is not None else ()
        await screen.fill(presets, problems, instances, standings)

    async def _read_sheet(self, screen: AdjustScreen, about: Editable) -> None:
        try:
            sheet = await in_thread(partial(self._core.sheet, about, ask=False))
            screen.fill(sheet)
            if not sheet.is_own:  # meanwhile the recorded flags do; the installation's own come with their help
                screen.fill(await in_thread(partial(self._core.sheet, about, ask=True)))
        except Exception:
            screen.close()
            raise

    async def _leave(self) -> None:
        busy = [notice.text for notice in unfinished(self.notices)]
        if busy and not await ask_all(self, [leave_question(busy)], self._glyphs):
            return
        newest = await in_thread(partial(self._sampler.look_fresh, _FAREWELL_S))
        words = farewell(newest, self._glyphs)
        self.exit(message=Text(words) if words else None)

    def _show_newest(self) -> None:
        """Show the newest snapshot, unless the terminal hasn't drawn the last one yet; then in a moment.

        The first one is waited for by a person, whatever the link.
        """
        if self._unshown is None:
            return
        if self.snapshot is None or self.link.allows(monotonic() - self._shown_at, 0):
            self._shown_at = monotonic()
            self.trouble = None
            self.snapshot, self._unshown = self._unshown, None

    def _watch_sampler(self) -> None:
        """Figures that stand still because the reader hangs must not look like news."""
        self._show_newest()
        if self._sampler.is_stalled:
            self.trouble = _STALLED
        elif self.trouble is _STALLED:
            self.trouble = None
