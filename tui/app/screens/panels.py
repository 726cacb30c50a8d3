"""The panels of the dashboard: which are seen, which has the keys, and how large each is."""

from __future__ import annotations

from abc import abstractmethod

from textual.content import Content
from textual.reactive import var
from textual.widget import Widget

from tui.app.keys import keys_of
from tui.app.messages import Explained, NoticesRead, Remember
from tui.app.screens.finding_actions import FindingActions
from tui.app.screens.sizes import LARGEST, LEAST_COLUMNS, LEAST_LINES, apply_size
from tui.app.screens.turns import (
    FACTS,
    HIDEABLE,
    LINES_FOR_BOTH,
    PANELS,
    TAKING_TURNS,
    WAYS,
    hint_words,
    place_of,
)
from tui.app.widgets.budget_panel import BudgetPanel
from tui.app.widgets.finding_panel import FindingPanel
from tui.app.widgets.instance_table import InstanceTable
from tui.app.widgets.live_panel import LivePanel
from tui.app.widgets.servers_panel import ServersPanel
from tui.app.widgets.text_line import TextLine


class Panels(FindingActions):
    """A screen of panels, of which some take turns in one place.

    Attributes:
        zoomed: the panel that is seen alone.
        in_front: of those that take turns.
        sizes: how much larger than usual a panel is, in steps; what isn't named has its usual size.
        hidden: places where nothing is shown, unless zoomed.
    """

    zoomed: var[str | None] = var(None, init=False)
    in_front: var[str] = var("budget", init=False)
    sizes: var[dict[str, int]] = var({}, init=False)
    hidden: var[frozenset[str]] = var(frozenset[str](), init=False)

    _servers: ServersPanel
    _facts = "budget"
    _judged: tuple[str, str, bool] | None = None  # for whom, and by what, the facts were chosen

    @abstractmethod
    def _show_selected(self) -> None:
        """Draw what depends on the selected server, and on which panels are seen."""

    def watch_zoomed(self) -> None:
        """One panel, or all."""
        self.set_class(self.zoomed is not None, "-zoom")
        for panel in self.query(".panel"):
            panel.set_class(panel.id == self.zoomed, "-zoomed")
        self._apply_sizes()
        self._show_selected()

    def watch_in_front(self) -> None:
        """Which is seen where there is room for one, and which of those whose place is one everywhere."""
        self._facts = self.in_front if self.in_front in FACTS else self._facts
        for panel in TAKING_TURNS:
            widget = self.query_one(f"#{panel}")
            widget.set_class(panel != self.in_front, "-behind")
            widget.set_class(panel in FACTS and panel != self._facts, "-aside")
        facts = self.query_one(f"#{self._facts}")
        if isinstance(facts, BudgetPanel | FindingPanel | LivePanel):
            self.call_after_refresh(facts.redraw)

    def watch_sizes(self) -> None:
        """Others have more room now, or less."""
        self._apply_sizes()

    def watch_hidden(self) -> None:
        """Some have their room for themselves now, or share it again."""
        for panel in PANELS:
            self.query_one(f"#{panel}").set_class(place_of(panel) in self.hidden, "-hidden")

    def say_too_small(self, width: int, height: int) -> None:
        """Below the least size one line says so, instead of rubble."""
        words = f"{width}x{height} is too small: sgltui needs {LEAST_COLUMNS}x{LEAST_LINES}"
        self.query_one("#too-small", TextLine).show(Content(words))

    def action_zoom(self) -> None:
        """The focused panel alone, or everything again."""
        self.zoomed = None if self.zoomed is not None else self._focused_panel()

    def action_focus_panel(self, panel: str) -> None:
        """Go to a panel; while zoomed, it takes the place of the other."""
        if self.zoomed is not None:
            self.zoomed = panel
        if panel in TAKING_TURNS:
            self.post_message(Remember({"in_front": panel}))
        self.bring(panel)

    def bring(self, panel: str) -> None:
        """Bring a panel to the front, also one that was hidden, and give it the keys."""
        if self.zoomed is None:
            self._hide(self.hidden - {place_of(panel)})
        if panel in TAKING_TURNS:
            self.in_front = panel
            self._show_selected()
        widget = self.query_one(f"#{panel}")
        # At once, and not by `focus`, which waits: keys that were typed ahead are meant for it.
        self.set_focus(widget if widget.can_focus else widget.query_one("InstanceTable, FindingText, LogView"))

    def action_next_panel(self, step: int = 1) -> None:
        """From panel to panel; one that is behind comes to the front, and a zoomed one keeps the keys."""
        if self.zoomed is None:
            empty = {"servers"} if self._table.has_class("-empty") else set()
            empty |= set() if self._findings.has_news or self._facts == "finding" else {"finding"}
            empty |= set() if self._advice.is_known or self._facts == "live" else {"live"}
            panels = [one for one in PANELS if one not in empty and place_of(one) not in self.hidden]
            here = self._focused_panel()
            self.action_focus_panel(panels[(panels.index(here) + step) % len(panels)] if here in panels else panels[0])

    def action_resize_panel(self, steps: int) -> None:
        """The focused panel gets more room, or less; it is kept for the next time."""
        panel, wish = self._focused_panel(), steps
        if panel in FACTS:  # they share what is left with the log: there is one measure for both
            panel, wish = "log", -steps
        size = self.sizes.get(panel, 0) + wish
        if self.zoomed is not None:
            self.post_message(Explained("one panel alone has the whole screen"))
        elif abs(size) > LARGEST:
            self.post_message(Explained(f"that is as {'large' if steps > 0 else 'small'} as it gets"))
        else:
            self.sizes = {**self.sizes, panel: size}
            self.post_message(Remember({"sizes": self.sizes}))

    def action_hide_panel(self) -> None:
        """The focused panel goes away; it is kept for the next time."""
        panel = self._focused_panel()
        if self.zoomed is not None:
            self.post_message(Explained("one panel alone has the whole screen"))
        elif place_of(panel) not in HIDEABLE:
            self.post_message(Explained("the servers stay: all else is about them"))
        else:
            self._hide(self.hidden | {place_of(panel)})
            self._table.focus()
            way = keys_of(self).first(WAYS[panel]) or f"{WAYS[panel].label} in the palette"
            self.post_message(Explained(f"hidden; {way} brings it back"))

    def _hide(self, places: frozenset[str]) -> None:
        if places != self.hidden:
            self.hidden = places
            self.post_message(Remember({"hidden": sorted(places)}))

    def action_back(self) -> None:
        """Out of the zoom, or the notices away."""
        if self.zoomed is None:
            self.post_message(NoticesRead())
        else:
            self.zoomed = None
            self._table.focus()

    @property
    def _table(self) -> InstanceTable:
        return self._servers.table

    def _focused_panel(self) -> str:
        inside = self.focused.ancestors_with_self if self.focused is not None else ()
        panels = [node.id for node in inside if isinstance(node, Widget) and node.has_class("panel")]
        return next((panel for panel in panels if panel is not None), "log")

    def _choose_facts(self) -> None:
        """Of what goes wrong the finding comes first; a person's own choice holds until it is about something else."""
        one = self.selected
        judged = None if one is None else (one.name, one.launch, self._findings.is_bad)
        if judged == self._judged:
            return
        self._judged = judged
        had_keys = self._focused_panel() in FACTS and self.focused is not None
        facts = "live" if self._facts == "live" and self._advice.is_known else "budget"
        facts = "finding" if judged is not None and judged[-1] else facts
        if self.in_front in FACTS:
            self.in_front = facts
        self._facts = facts
        self.watch_in_front()
        if had_keys and self.zoomed is None:
            self.bring(facts)

    def _hint(self, panel: str) -> str:
        """The keys of what has its place in turn with a panel, while that one is seen."""
        if self.zoomed is not None or self.size.height < LEAST_LINES:
            return ""
        is_low = self.size.height < LINES_FOR_BOTH
        return hint_words(
            panel, self._facts, self._findings, self._advice, self._glyphs, keys=keys_of(self), is_low=is_low
        )

    def _apply_sizes(self) -> None:
        sizes = self.sizes if self.zoomed is None else {}
        for panel in PANELS:
            steps = -sizes.get("log", 0) if panel in FACTS else sizes.get(panel, 0)
            apply_size(self.query_one(f"#{panel}"), steps)
