"""The dashboard: GPUs and who holds them, servers and how they are, budget and log of the selected one."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.message import Message
from textual.reactive import var

from tui.app.advice import AdviceAnswer
from tui.app.budgets import BudgetAnswer, BudgetQuestion, again, ask_about_server
from tui.app.command import Command, Situation, bindings
from tui.app.commands.dashboard import ADJUST, DASHBOARD, GO_BACK, KILL, RELAUNCH, SAVE_PRESET, SHOW_LOG, STOP, TEST
from tui.app.composing import SparingCompositor
from tui.app.findings import ExplanationAnswer
from tui.app.glyphs import Glyphs
from tui.app.here import find, offers
from tui.app.holders import assign_letters, lettered_names
from tui.app.keys import keys_of
from tui.app.layout import Layout
from tui.app.link import Link
from tui.app.messages import (
    AdjustAsked,
    BackAsked,
    BudgetAsked,
    EngineAsked,
    Explained,
    RelaunchWanted,
    SaveAsked,
    StopAsked,
    TestWanted,
)
from tui.app.moving import move
from tui.app.notices import Notice, Trouble
from tui.app.screens.absence import words_for_no_budget, words_for_no_figures, words_for_no_log
from tui.app.screens.panels import Panels
from tui.app.screens.sizes import LEAST_COLUMNS, LEAST_LINES
from tui.app.screens.turns import HIDEABLE, LINES_FOR_BOTH
from tui.app.widgets.budget_panel import BudgetPanel
from tui.app.widgets.finding_panel import FindingPanel
from tui.app.widgets.footer_bar import FooterBar
from tui.app.widgets.gpu_panel import GpuPanel
from tui.app.widgets.instance_rows import with_stopping
from tui.app.widgets.instance_table import InstanceTable
from tui.app.widgets.live_panel import LivePanel
from tui.app.widgets.log_panel import LogPanel
from tui.app.widgets.notice_lines import NoticeLines, trouble_line
from tui.app.widgets.servers_panel import ServersPanel
from tui.app.widgets.text_line import TextLine
from tui.app.widgets.title_line import TitleLine
from tui.observe import BrokenRecord, Instance, Snapshot

_LOG_PERIOD_S, _LOG_PERIOD_SSH_S = 0.25, 0.5


class Dashboard(Panels):
    """Shows the state that the app binds to it; asks the app for whatever takes time or changes something."""

    COMMAND_LIST = DASHBOARD
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(DASHBOARD)]
    HORIZONTAL_BREAKPOINTS = [  # noqa: RUF012 Textual declares the type
        (0, "-tiny"),
        (LEAST_COLUMNS, "-roomy"),
    ]
    VERTICAL_BREAKPOINTS = [  # noqa: RUF012 Textual declares the type
        (0, "-flat"),
        (LEAST_LINES, "-low"),
        (LINES_FOR_BOTH, "-high"),
    ]

    snapshot: var[Snapshot | None] = var(None, init=False)
    trouble: var[Trouble | None] = var(None, init=False)
    budget: var[BudgetAnswer | None] = var(None, init=False)
    explanation: var[ExplanationAnswer | None] = var(None, init=False, always_update=True)
    advice: var[AdviceAnswer | None] = var(None, init=False)
    engine: var[str | Trouble | None] = var(None, init=False)
    notices: var[tuple[Notice, ...]] = var((), init=False)
    stopping: var[frozenset[str]] = var(frozenset[str](), init=False)
    wanted: var[str | None] = var(None, init=False, always_update=True)

    def __init__(self, where: str, glyphs: Glyphs, layout: Layout, link: Link, *, read_only: bool) -> None:
        super().__init__(glyphs)
        self._compositor = SparingCompositor()
        self._servers = ServersPanel(glyphs, read_only=read_only, id="servers", classes="panel")
        self._link = link
        self._layout_before = layout
        self._where = where
        self._read_only = read_only
        self._letters: dict[str, str] = {}
        self._is_covered = False
        self._is_behind = False
        self._asked: BudgetQuestion | None = None
        self._has_asked_for_engine = False

    def compose(self) -> ComposeResult:
        """From top to bottom."""
        yield TitleLine(self._where, self._glyphs, read_only=self._read_only)
        yield TextLine(id="trouble")
        yield GpuPanel(self._glyphs, id="gpus", classes="panel")
        yield self._servers
        yield FindingPanel(self._glyphs, id="finding", classes="panel")
        yield BudgetPanel(self._glyphs, id="budget", classes="panel")
        yield LivePanel(self._glyphs, id="live", classes="panel")
        yield self._log_panel()
        yield NoticeLines(id="notices")
        yield FooterBar()
        yield TextLine(id="too-small")

    def on_mount(self) -> None:
        """Nothing was read yet; the log follows its file a few times a second."""
        self._arrange(self._layout_before)
        self._show_servers()
        self._table.focus()
        period = _LOG_PERIOD_SSH_S if self._link.is_remote else _LOG_PERIOD_S
        self.query_one(LogPanel).watch_file(period, self._link)

    def _log_panel(self) -> LogPanel:
        before, log = self._layout_before, LogPanel(self._glyphs, id="log", classes="panel")
        log.restore(wrap=before.wrap, hide_access=before.hide_access, hide_batch=before.hide_batch)
        return log

    def _arrange(self, layout: Layout) -> None:
        """As a person left it the last time."""
        self.in_front = layout.in_front
        self.sizes = dict(layout.sizes)
        self.hidden = frozenset(layout.hidden) & frozenset(HIDEABLE)
        self.watch_in_front()

    @property
    def selected(self) -> Instance | None:
        """The server under the cursor, as it was last seen."""
        instances = self._shown.instances if self._shown is not None else ()
        return next((one for one in instances if one.name == self._table.selected), None)

    @property
    def situation(self) -> Situation:
        """What decides which commands make sense."""
        broken = self._selected_broken
        broken_name = broken.name if broken is not None else None
        return Situation(self._read_only, self.selected, self.stopping, broken_name, keys_of(self))

    def watch_snapshot(self) -> None:
        """Hand the new moment to every part."""
        if self.snapshot is not None:
            self._letters = assign_letters(self._letters, lettered_names(self.snapshot))
            self.query_one(TitleLine).show_reading(self.snapshot.gpus)
            self.query_one(GpuPanel).show(self.snapshot, self._letters)
            self.query_one(LogPanel).paint_along()
            if not self._has_asked_for_engine and not self.snapshot.instances and not self._read_only:
                self._has_asked_for_engine = True
                self.post_message(EngineAsked())
        self._show_servers()

    def watch_stopping(self) -> None:
        """A stop that was asked for shows at once."""
        self._show_servers()

    def watch_wanted(self) -> None:
        """A server that was just launched is what a person wants to look at."""
        if self.wanted is not None:
            self._table.select(self.wanted)

    def watch_trouble(self) -> None:
        """Say that the figures are old, and why."""
        self.query_one("#trouble", TextLine).show(trouble_line(self.trouble, self._glyphs))
        if self.trouble is not None:
            self.query_one(GpuPanel).lose_sight()

    def watch_budget(self) -> None:
        """What a launch takes is known now."""
        if self.budget is not None:
            self.query_one(BudgetPanel).answer(self.budget)

    def watch_explanation(self) -> None:
        """What is the matter with the selected server is known now, or known better."""
        if self.explanation is not None and self._findings.take(self.explanation):
            self._show_selected()

    def watch_advice(self) -> None:
        """What limits the selected server is known now, or what would help."""
        if self.advice is not None and self._advice.take(self.advice):
            self._show_selected()

    def watch_engine(self) -> None:
        """What would run the first server is known now."""
        if self.engine is not None:
            self._servers.show_engine(self.engine)
            self._show_servers()

    def watch_notices(self) -> None:
        """News above the footer."""
        self.query_one(NoticeLines).show_notices(self.notices, self._glyphs)

    def on_screen_suspend(self) -> None:
        """A dialogue has the keys now."""
        self._is_covered = True
        self._show_selected()

    def on_screen_resume(self) -> None:
        """The keys are ours again."""
        self._is_covered = False
        self._show_selected()

    def on_resize(self, event: events.Resize) -> None:
        """The titles say more, or less."""
        self.say_too_small(event.size.width, event.size.height)
        self._show_selected()

    def on_descendant_focus(self) -> None:
        """Another panel has the keys: other ones work."""
        self._show_footer()

    @on(InstanceTable.Picked)
    def _picked(self) -> None:
        """Another server is selected: its log, and what can be done with it."""
        self._show_selected()

    def action_stop(self) -> None:
        """Ask the app to stop the selected server."""
        self._ask(STOP, lambda one: StopAsked(one, kill=False))

    def action_kill(self) -> None:
        """Ask the app to kill the selected server."""
        self._ask(KILL, lambda one: StopAsked(one, kill=True))

    def action_relaunch(self) -> None:
        """Ask the app for the same server again."""
        self._ask(RELAUNCH, lambda one: RelaunchWanted(again(one)))

    def action_adjust(self) -> None:
        """Ask the app for the flag editor."""
        self._ask(ADJUST, lambda one: AdjustAsked(again(one), self.offered_changes))

    def action_test(self) -> None:
        """Ask the app for one small request."""
        self._ask(TEST, TestWanted)

    def action_go_back(self) -> None:
        """Ask the app for what worked before."""
        self._ask(GO_BACK, BackAsked)

    def action_save_preset(self) -> None:
        """Ask the app to keep it as a preset."""
        self._ask(SAVE_PRESET, SaveAsked)

    def action_show_log(self) -> None:
        """The log alone, or everything again."""
        if self.zoomed == "log":
            self.action_back()
        elif (why := SHOW_LOG.why_not(self.situation)) is not None:
            self.post_message(Explained(why))
        else:
            self.zoomed = "log"
            self.bring("log")

    def action_follow(self) -> None:
        """Follow the log's end, or stay where it is."""
        self.query_one(LogPanel).toggle_following()

    async def action_move(self, direction: str) -> None:
        """Move in the focused panel."""
        await move(self.focused or self._table, direction)

    async def action_do(self, command: str) -> None:
        """Do what a click on the footer means."""
        if (found := find(self, command)) is not None:
            node, one = found
            await self.app.run_action(one.action, node)

    def _ask(self, command: Command, make: Callable[[Instance], Message]) -> None:
        """Ask the app about the selected server, or say why that makes no sense."""
        one, why = self.selected, command.why_not(self.situation)
        if why is not None:
            self.post_message(Explained(why))
        elif one is not None:
            self.post_message(make(one))

    def _show_servers(self) -> None:
        self._servers.show(self._shown, self._letters)
        if self.focused is None and not self._table.has_class("-empty"):
            self._table.focus()
        self._show_selected()

    @property
    def _shown(self) -> Snapshot | None:
        """The newest moment, in which a stop shows as soon as it was asked for."""
        return None if self.snapshot is None else with_stopping(self.snapshot, self.stopping)

    @property
    def _selected_broken(self) -> BrokenRecord | None:
        broken = self.snapshot.broken if self.snapshot is not None else ()
        return next((one for one in broken if one.name == self._table.selected), None)

    def _show_selected(self) -> None:
        """In a moment, once for all that changes until then."""
        if not self._is_behind:
            self._is_behind = True
            self.call_later(self._catch_up)

    def _catch_up(self) -> None:
        self._is_behind = False
        one, findings = self.selected, self._findings
        gpus = self.snapshot.gpus if self.snapshot is not None else None
        findings.select(one, gpus, covered=self._is_covered)
        self._advice.select(one, gpus, covered=self._is_covered)
        self._choose_facts()
        self._show_budget()
        absent = words_for_no_log(self.snapshot, self._selected_broken, self._glyphs)
        key = keys_of(self).first(ADJUST) if ADJUST.why_not(self.situation) is None else ""
        hint = self._hint("finding")
        self.query_one(FindingPanel).show(one, findings, self._absence, hint=hint, adjust_key=key)
        no_figures = words_for_no_figures(one, self._absence, self._glyphs)
        live = self.query_one(LivePanel)
        live.show(one, self._advice.answer, no_figures, hint=self._hint("live"), adjust_key=key)
        log = self.query_one(LogPanel)
        log.show(one, absent, zoomed=self.zoomed == "log", hint=self._hint("log"))
        log.mark_lines(findings.explanation.marks if findings.explanation is not None else {})
        self._show_footer()

    def _show_footer(self) -> None:
        """The keys that matter here; none while a dialogue has them."""
        self.query_one(FooterBar).show_keys(None if self._is_covered else self.situation, offers(self))

    def _show_budget(self) -> None:
        panel, one, question = self.query_one(BudgetPanel), self.selected, self._question
        panel.ask(one.name if one is not None else None, question, self._absence)
        found = self._findings.explanation
        panel.show_measured(found.answer.memory if found is not None else {})
        panel.show_how(whole=self.zoomed == "budget", hint=self._hint("budget"))
        if question is not None and question != self._asked and not self._is_covered:
            self._asked = question
            self.post_message(BudgetAsked(question))

    @property
    def _question(self) -> BudgetQuestion | None:
        one, snapshot = self.selected, self.snapshot
        return ask_about_server(one, snapshot) if one is not None and one.local and snapshot is not None else None

    @property
    def _absence(self) -> str:
        return words_for_no_budget(self.selected, self.snapshot, self._selected_broken, self._glyphs)
