"""What a person can do about a finding: go to the line, copy a report, look at the attempts, change what is offered."""

from __future__ import annotations

from abc import abstractmethod
from functools import partial

from textual.screen import Screen

from tui.app.advice import Advice
from tui.app.command import Situation
from tui.app.commands.dashboard import ATTEMPTS
from tui.app.findings import Findings
from tui.app.glyphs import Glyphs
from tui.app.messages import AdviceAsked, Explained, ExplanationAsked, HistoryWanted, ReportWanted
from tui.app.screens.history import HistoryScreen
from tui.app.widgets.log_panel import LogPanel
from tui.diagnosis.diagnosis import Change
from tui.observe import Instance


class FindingActions(Screen[None]):
    """A screen on which a server is selected and its log is shown."""

    def __init__(self, glyphs: Glyphs) -> None:
        super().__init__(classes="-ascii" if glyphs.ascii_only else None)
        self._glyphs = glyphs
        self._advice = Advice(lambda question: self.post_message(AdviceAsked(question)))
        self._findings = Findings(lambda question: self.post_message(ExplanationAsked(question)), self.set_timer)

    @property
    @abstractmethod
    def selected(self) -> Instance | None:
        """The server that is meant."""

    @property
    @abstractmethod
    def situation(self) -> Situation:
        """What decides which commands make sense."""

    @abstractmethod
    def action_focus_panel(self, panel: str) -> None:
        """Go to a panel."""

    @property
    def offered_changes(self) -> tuple[Change, ...]:
        """What would help the selected server, best first: against what is wrong, else against what limits it."""
        return self._findings.changes or self._advice.changes

    def action_show_root(self) -> None:
        """The line that says what happened, in the log."""
        found = self._findings.explanation
        if found is None or found.root_offset is None:
            self.post_message(Explained("no line of its log says what happened"))
        else:
            self.action_focus_panel("log")
            self.query_one(LogPanel).go_to_root()

    def action_copy_report(self) -> None:
        """What is the matter, for a bug tracker."""
        if (question := self._findings.question) is not None:
            self.post_message(ReportWanted(question))

    def action_history(self) -> None:
        """The attempts at the selected server; the one that is chosen shows its log."""
        one = self.selected
        if one is None:
            self.post_message(Explained(ATTEMPTS.why_not(self.situation) or ""))
            return
        screen = HistoryScreen(one.name, self._glyphs)
        self.app.push_screen(screen, partial(self._show_attempt, one.name))
        self.post_message(HistoryWanted(screen))

    def _show_attempt(self, name: str, launch: str | None) -> None:
        if launch is not None and self.selected is not None and self.selected.name == name:
            self.action_focus_panel("log")
            self.query_one(LogPanel).show_launch(launch)
