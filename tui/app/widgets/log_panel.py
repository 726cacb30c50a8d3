"""The log of the selected server under a title that says whose it is, how that is, and whether the log is followed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from textual.binding import BindingType
from textual.content import Content

from tui.app.command import Command, bindings
from tui.app.commands.dashboard import FOLLOW
from tui.app.commands.log import EARLIER, LOG, PRESENT, READING
from tui.app.commands.moves import BOTTOM, MOVES, MOVES_SIDEWAYS
from tui.app.glyphs import Glyphs
from tui.app.keys import keys_of
from tui.app.link import Link
from tui.app.messages import Explained
from tui.app.widgets.log_tools import LogTools
from tui.app.words import state_words
from tui.keeper.states import ALIVE
from tui.launch.explanation import Mark
from tui.launch.records import LAUNCH_NAME
from tui.observe import Instance

_FRAME_CELLS = 4  # corners and blanks that a border's title leaves
_WHOSE_LEAST = 10
_LOOK_S, _SILENT_LOOK_S = 0.1, 0.25
_SILENT_AFTER_S = 10.0
_NARROW_BELOW_CELLS = 100  # the table of servers has no room for ports then


class LogPanel(LogTools):
    """Reads its file only when it is told to. An earlier launch's log takes its place until `P`, or another server."""

    DEFAULT_CSS = "LogPanel.-earlier { border-title-style: bold reverse; }"

    COMMAND_LIST = (*LOG, *MOVES, *MOVES_SIDEWAYS)
    BINDINGS: ClassVar[list[BindingType]] = [*bindings((EARLIER, PRESENT))]

    def __init__(self, glyphs: Glyphs, *, id: str, classes: str) -> None:  # noqa: A002 Textual's own name
        super().__init__(glyphs, id=id, classes=classes)
        self._earlier: Path | None = None
        self._marks: Mapping[int, Mark] = {}
        self._absent = ""
        self._flush_s = self._painted_at = 0.0
        self._link = Link()
        self._one: Instance | None = None
        self._is_zoomed = False
        self._hint = ""
        self._title = ""
        self._followed = True  # when the title was written

    def show(self, one: Instance | None, absent: str, *, zoomed: bool, hint: str = "") -> None:
        """Show the log of this server's launch, or the words `absent`; zoomed: nothing else is on the screen.

        `hint` ends the title: how to see what has this place else.
        """
        if (one and one.log_path) != (self._one and self._one.log_path):
            self._earlier = None
            self.begin_anew()
        self._one, self._absent, self._is_zoomed, self._hint = one, absent, zoomed, hint
        self._show_log()

    def is_idle(self, command: Command) -> bool:
        """There is no log to read, or to come back from."""
        if command is PRESENT:
            return self._earlier is None
        return self._one is None and (command is EARLIER or command in READING)

    def mark_lines(self, marks: Mapping[int, Mark]) -> None:
        """What the diagnosis says of lines of the newest launch's log."""
        self._marks = marks
        self._mark()

    def go_to_root(self) -> None:
        """To the line that says what happened, in the newest launch's log; it may still have to be counted."""
        self.action_present()
        self.show_all()
        if (root := self.log_view.marks.root) is not None:
            self.log_view.select(root)

    def show_launch(self, launch: str) -> None:
        """The log of this launch, which may be an earlier one."""
        if self._one is None or launch == self._one.launch:
            self.action_present()
        else:
            self._show_earlier(self._one.log_path.parents[1] / launch / self._one.log_path.name)

    def action_earlier(self) -> None:
        """The log of the launch before the one that is shown."""
        if self._one is None:
            return
        shown = (self._earlier or self._one.log_path).parent
        earlier = [launch for launch in _launches(shown.parent) if launch.name < shown.name]
        if not earlier:
            self.post_message(Explained(f"{self._one.name} has no launch before {shown.name}"))
            return
        self._show_earlier(max(earlier) / self._one.log_path.name)

    def action_present(self) -> None:
        """The log of the newest launch again."""
        if self._earlier is not None:
            self._earlier = None
            self.begin_anew()
            self._show_log()

    def watch_file(self, flush_s: float, link: Link | None = None) -> None:
        """Look at the file ten times a second, less often when it is silent; paint once in `flush_s` at most.

        `link`: to the terminal; one that is slow is spared.
        """
        self._flush_s, self._link = flush_s, link or self._link
        self._look()

    def _look(self) -> None:
        """By a timer of the loop's own: one of Textual's wakes the app for each look, and most find nothing."""
        if not self._is_whole:
            return
        now = time.monotonic()
        if self._link.allows(now - self._painted_at, self._flush_s) and self.log_view.has_news():
            self._painted_at = now
            self.call_next(self.refresh_lines)
        elif self.log_view.following != self._followed:
            self.call_next(self._show_title)
        is_silent = now - self._painted_at > _SILENT_AFTER_S
        asyncio.get_running_loop().call_later(_SILENT_LOOK_S if is_silent else _LOOK_S, self._look)

    def paint_along(self) -> None:
        """Other panels are painted now: what was appended goes with them, in one frame instead of two."""
        if self._is_whole and self.log_view.has_news():
            self._painted_at = time.monotonic()
            self.refresh_lines()

    def refresh_lines(self) -> None:
        """Read what was appended."""
        if not self._is_whole:
            return
        self.log_view.refresh_lines()
        self.show_status()
        self._show_title()

    @property
    def _is_whole(self) -> bool:
        """It is on the screen; when the app ends, its parts go before it."""
        return self.is_attached and self.log_view.is_attached

    def toggle_following(self) -> None:
        """Follow the log's end, or stay."""
        self.log_view.following = not self.log_view.following
        self._show_title()

    def on_mount(self) -> None:
        """Nothing is selected yet."""
        self._show_title()

    def on_resize(self) -> None:
        """The title says more, or less."""
        self._show_title()

    def _show_earlier(self, path: Path) -> None:
        self._earlier = path
        self.begin_anew()
        self._show_log()

    def _mark(self) -> None:
        self.log_view.mark(self._marks if self._earlier is None else {})

    def _show_log(self) -> None:
        one = self._one
        self._mark()
        before = self.log_view.window
        self.log_view.show(None if one is None else self._earlier or one.log_path, self._absent)
        if self.log_view.window is not before:
            self.hide_again()
        self.set_class(self._earlier is not None, "-earlier")
        self._show_title()

    def _show_title(self) -> None:
        if not self._is_whole:
            return
        self._followed = self.log_view.following
        title = self._title_words()
        if title != self._title:
            self._title = title
            self.border_title = Content(title)

    def _title_words(self) -> str:
        one, glyphs = self._one, self._glyphs
        rule = f" {glyphs.rule} "
        if one is None:
            return f" Log{rule}{self._hint} " if self._hint else " Log "
        if self._earlier is not None:
            whose = f"{glyphs.plain(one.name)}/{glyphs.plain(self._earlier.parent.name)}"
            start = f" EARLIER LAUNCH {glyphs.pointer} "
            key = keys_of(self).first(PRESENT)
            back = f"{rule}{key}: newest" if key else ""
            return f"{start}{glyphs.fit(whose, max(_WHOSE_LEAST, self.size.width - len(start) - 30))}{back} "
        about = rule.join(words for words in (self._state_words(one), self._mode_words(one), self._hint) if words)
        start = f" Log {glyphs.pointer} "
        room = self.size.width - len(f"{start}{rule}{about} ") - _FRAME_CELLS
        whose = glyphs.fit(f"{glyphs.plain(one.name)}/{glyphs.plain(one.launch)}", max(_WHOSE_LEAST, room))
        return f"{start}{whose}{rule}{about} "

    def _state_words(self, one: Instance) -> str:
        """How the server is, where nothing else on the screen says it; and always when its log ends here."""
        if one.state not in ALIVE:
            return state_words(one)
        if not self._is_zoomed and self.size.width >= _NARROW_BELOW_CELLS:
            return ""
        return state_words(one) if one.port is None else f"{state_words(one)} :{one.port}"

    def _mode_words(self, one: Instance) -> str:
        view, is_over = self.log_view, one.state not in ALIVE
        if view.following:
            return "" if is_over else "following"
        count = f", {view.line_count} lines" if view.is_counted else ""
        key = keys_of(self).first(BOTTOM if is_over else FOLLOW)
        does = "goes to its end" if is_over else "follows"
        return f"{key} {does}{count}" if key else count.removeprefix(", ")


def _launches(folder: Path) -> list[Path]:
    try:
        return [path for path in folder.iterdir() if LAUNCH_NAME.fullmatch(path.name)]
    except OSError:  # gone, or not ours to read: there is nothing to show
        return []
