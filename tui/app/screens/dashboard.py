"""The dashboard: GPUs and who holds them, servers and how they are, budget and log of the selected one."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.reactive import var
from textual.widget import Widget

from tui.app.budgets import BudgetAnswer, BudgetQuestion, again, ask_about_server
from tui.app.command import Command, Situation
from tui.app.commands import Adjust, GoBack, Kill, Relaunch, ShowLog, Stop, Test, all_bindings
from tui.app.findings import ExplanationAnswer
from tui.app.glyphs import Glyphs
from tui.app.holders import assign_letters, lettered_names
from tui.app.messages import (
    AdjustAsked,
    BackAsked,
    BudgetAsked,
    Explained,
    NoticesRead,
    RelaunchWanted,
    StopAsked,
    TestWanted,
)
from tui.app.notices import Notice, Trouble
from tui.app.palette import CommandPalette
from tui.app.screens.absence import words_for_no_budget, words_for_no_log
from tui.app.screens.finding_actions import FindingActions
from tui.app.screens.help import HelpScreen
from tui.app.screens.turns import FACTS, LEAST_LINES, LINES_FOR_BOTH, PANELS, TAKING_TURNS, hint_words
from tui.app.widgets.budget_panel import BudgetPanel
from tui.app.widgets.finding_panel import FindingPanel
from tui.app.widgets.footer_bar import FooterBar
from tui.app.widgets.gpu_panel import GpuPanel
from tui.app.widgets.instance_rows import with_stopping
from tui.app.widgets.instance_table import InstanceTable
from tui.app.widgets.log_panel import LogPanel
from tui.app.widgets.notice_lines import NoticeLines, trouble_line
from tui.app.widgets.servers_panel import ServersPanel
from tui.app.widgets.text_line import TextLine
from tui.app.widgets.title_line import TitleLine
from tui.observe import BrokenRecord, Instance, Snapshot

_LOG_PERIOD_S, _LOG_PERIOD_SSH_S = 0.25, 0.5
_LEAST_COLUMNS = 60

# What each move is called by the widgets that know it; the first that the focused one has is taken.
_MOVES = {
    "down": ("cursor_down", "scroll_down"),
    "up": ("cursor_up", "scroll_up"),
    "left": ("scroll_left",),
    "right": ("scroll_right",),
    "top": ("scroll_top", "scroll_home"),
    "bottom": ("scroll_bottom", "scroll_end"),
}


class Dashboard(FindingActions):
    """Shows the state that the app binds to it; asks the app for whatever takes time or changes something."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *all_bindings(),
        Binding("shift+tab", "next_panel(-1)", "previous panel", show=False),
    ]
    COMMANDS = {CommandPalette}  # noqa: RUF012 Textual declares the type
    HORIZONTAL_BREAKPOINTS = [  # noqa: RUF012 Textual declares the type
        (0, "-tiny"),
        (_LEAST_COLUMNS, "-roomy"),
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
    notices: var[tuple[Notice, ...]] = var((), init=False)
    stopping: var[frozenset[str]] = var(frozenset[str](), init=False)
    wanted: var[str | None] = var(None, init=False, always_update=True)
    zoomed: var[str | None] = var(None, init=False)
    in_front: var[str] = var("budget", init=False)

    def __init__(self, where: str, glyphs: Glyphs, *, read_only: bool) -> None:
        super().__init__(glyphs)
        self._where = where
        self._read_only = read_only
        self._letters: dict[str, str] = {}
        self._is_covered = False
        self._asked: BudgetQuestion | None = None
        self._facts = "budget"
        self._judged: tuple[str, str, bool] | None = None  # for whom, and by what, the facts were chosen

    def compose(self) -> ComposeResult:
        """From top to bottom."""
        yield TitleLine(self._where, self._glyphs, read_only=self._read_only)
        yield TextLine(id="trouble")
        yield GpuPanel(self._glyphs, id="gpus", classes="panel")
        yield ServersPanel(self._glyphs, read_only=self._read_only, id="servers", classes="panel")
        yield FindingPanel(self._glyphs, id="finding", classes="panel")
        yield BudgetPanel(self._glyphs, id="budget", classes="panel")
        yield LogPanel(self._glyphs, id="log", classes="panel")
        yield NoticeLines(id="notices")
        yield FooterBar(Situation(self._read_only, None))
        yield TextLine(id="too-small")

    def on_mount(self) -> None:
        """Nothing was read yet; the log follows its file a few times a second."""
        self.watch_in_front()
        self._show_servers()
        self._table.focus()
        period = _LOG_PERIOD_SSH_S if "SSH_CONNECTION" in os.environ else _LOG_PERIOD_S
        self.query_one(LogPanel).watch_file(period)

    @property
    def selected(self) -> Instance | None:
        """The server under the cursor, as it was last seen."""
        instances = self._shown.instances if self._shown is not None else ()
        return next((one for one in instances if one.name == self._table.selected), None)

    @property
    def situation(self) -> Situation:
        """What decides which commands make sense."""
        broken = self._selected_broken
        return Situation(self._read_only, self.selected, self.stopping, broken.name if broken is not None else None)

    def watch_snapshot(self) -> None:
        """Hand the new moment to every part."""
        if self.snapshot is not None:
            self._letters = assign_letters(self._letters, lettered_names(self.snapshot))
            self.query_one(TitleLine).show_reading(self.snapshot.gpus)
            self.query_one(GpuPanel).show(self.snapshot, self._letters)
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

    def watch_budget(self) -> None:
        """What a launch takes is known now."""
        if self.budget is not None:
            self.query_one(BudgetPanel).answer(self.budget)

    def watch_explanation(self) -> None:
        """What is the matter with the selected server is known now, or known better."""
        if self.explanation is not None and self._findings.take(self.explanation):
            self._show_selected()

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

    def watch_zoomed(self) -> None:
        """One panel, or all."""
        self.set_class(self.zoomed is not None, "-zoom")
        for panel in self.query(".panel"):
            panel.set_class(panel.id == self.zoomed, "-zoomed")
        self._show_selected()

    def watch_in_front(self) -> None:
        """Which is seen where there is room for one, and which of the two whose place is one everywhere."""
        self._facts = self.in_front if self.in_front in FACTS else self._facts
        for panel in TAKING_TURNS:
            widget = self.query_one(f"#{panel}")
            widget.set_class(panel != self.in_front, "-behind")
            widget.set_class(panel in FACTS and panel != self._facts, "-aside")
        facts = self.query_one(f"#{self._facts}")
        if isinstance(facts, BudgetPanel | FindingPanel):
            self.call_after_refresh(facts.redraw)

    def on_resize(self, event: events.Resize) -> None:
        """Below the least size one line says so, instead of rubble."""
        size = f"{event.size.width}x{event.size.height}"
        words = f"{size} is too small: sgltui needs {_LEAST_COLUMNS}x{LEAST_LINES}"
        self.query_one("#too-small", TextLine).show(Content(words))
        self._show_selected()

    @on(InstanceTable.Picked)
    def _picked(self) -> None:
        """Another server is selected: its log, and what can be done with it."""
        self._show_selected()

    @on(InstanceTable.Opened)
    def _opened(self) -> None:
        self.action_show_log()

    def action_stop(self) -> None:
        """Ask the app to stop the selected server."""
        self._ask(Stop, lambda one: StopAsked(one, kill=False))

    def action_kill(self) -> None:
        """Ask the app to kill the selected server."""
        self._ask(Kill, lambda one: StopAsked(one, kill=True))

    def action_relaunch(self) -> None:
        """Ask the app for the same server again."""
        self._ask(Relaunch, lambda one: RelaunchWanted(again(one)))

    def action_adjust(self) -> None:
        """Ask the app for the flag editor."""
        self._ask(Adjust, lambda one: AdjustAsked(again(one), self.offered_changes))

    def action_test(self) -> None:
        """Ask the app for one small request."""
        self._ask(Test, TestWanted)

    def action_go_back(self) -> None:
        """Ask the app for what worked before."""
        self._ask(GoBack, BackAsked)

    def action_show_log(self) -> None:
        """The log alone, or everything again."""
        if self.zoomed == "log":
            self.action_back()
        elif (why := ShowLog.why_not(self.situation)) is not None:
            self.post_message(Explained(why))
        else:
            self.zoomed = "log"
            self.action_focus_panel("log")

    def action_follow(self) -> None:
        """Follow the log's end, or stay where it is."""
        self.query_one(LogPanel).toggle_following()

    def action_zoom(self) -> None:
        """The focused panel alone, or everything again."""
        self.zoomed = None if self.zoomed is not None else self._focused_panel()

    def action_focus_panel(self, panel: str) -> None:
        """Go to a panel; while zoomed, it takes the place of the other."""
        if self.zoomed is not None:
            self.zoomed = panel
        if panel in TAKING_TURNS:
            self.in_front = panel
            self._show_selected()
        widget = self.query_one(f"#{panel}")
        (widget if widget.can_focus else widget.query_one("InstanceTable, FindingText, LogView")).focus()

    def action_next_panel(self, step: int = 1) -> None:
        """From panel to panel; one that is behind comes to the front, and a zoomed one keeps the keys."""
        if self.zoomed is None:
            empty = {"servers"} if self._table.has_class("-empty") else set()
            empty |= set() if self._findings.has_news or self._facts == "finding" else {"finding"}
            panels = [one for one in PANELS if one not in empty]
            here = self._focused_panel()
            self.action_focus_panel(panels[(panels.index(here) + step) % len(panels)] if here in panels else panels[0])

    async def action_move(self, direction: str) -> None:
        """Move in the focused panel, by what it calls that move."""
        widget = self.focused or self._table
        for action in _MOVES[direction]:
            if hasattr(widget, f"action_{action}"):
                await widget.run_action(action)
                return

    def action_back(self) -> None:
        """Out of the zoom, or the notices away."""
        if self.zoomed is None:
            self.post_message(NoticesRead())
        else:
            self.zoomed = None
            self._table.focus()

    def action_help(self) -> None:
        """Keys and signs."""
        self.app.push_screen(HelpScreen(self.situation, self._glyphs))

    @property
    def _table(self) -> InstanceTable:
        return self.query_one(ServersPanel).table

    def _ask(self, command: type[Command], make: Callable[[Instance], Message]) -> None:
        """Ask the app about the selected server, or say why that makes no sense."""
        one, why = self.selected, command.why_not(self.situation)
        if why is not None:
            self.post_message(Explained(why))
        elif one is not None:
            self.post_message(make(one))

    def _focused_panel(self) -> str:
        inside = self.focused.ancestors_with_self if self.focused is not None else ()
        panels = [node.id for node in inside if isinstance(node, Widget) and node.has_class("panel")]
        return next((panel for panel in panels if panel is not None), "log")

    def _show_servers(self) -> None:
        self.query_one(ServersPanel).show(self._shown, self._letters)
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
        one, findings = self.selected, self._findings
        findings.select(one, self.snapshot.gpus if self.snapshot is not None else None, covered=self._is_covered)
        self._choose_facts()
        self._show_budget()
        absent = words_for_no_log(self.snapshot, self._selected_broken, self._glyphs)
        key = Adjust.keys[0] if Adjust.why_not(self.situation) is None else ""
        hint = self._hint("finding")
        self.query_one(FindingPanel).show(one, findings, self._absence, hint=hint, adjust_key=key)
        log = self.query_one(LogPanel)
        log.show(one, absent, zoomed=self.zoomed == "log", hint=self._hint("log"))
        log.mark_lines(findings.explanation.marks if findings.explanation is not None else {})
        self.query_one(FooterBar).show_situation(None if self._is_covered else self.situation)

    def _choose_facts(self) -> None:
        """Of what goes wrong the finding comes first; a person's own choice holds until it is about something else."""
        one = self.selected
        judged = None if one is None else (one.name, one.launch, self._findings.is_bad)
        if judged == self._judged:
            return
        self._judged = judged
        had_keys = self._focused_panel() in FACTS and self.focused is not None
        facts = "finding" if judged is not None and judged[-1] else "budget"
        if self.in_front in FACTS:
            self.in_front = facts
        self._facts = facts
        self.watch_in_front()
        if had_keys and self.zoomed is None:
            self.action_focus_panel(facts)

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

    def _hint(self, panel: str) -> str:
        """The keys of what has its place in turn with a panel, while that one is seen."""
        if self.zoomed is not None or self.size.height < LEAST_LINES:
            return ""
        is_low = self.size.height < LINES_FOR_BOTH
        return hint_words(panel, self._facts, self._findings, self._glyphs, is_low=is_low)
