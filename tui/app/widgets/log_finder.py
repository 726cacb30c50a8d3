"""Finding and counting in a log without holding up the screen."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from msgspec import Struct
from textual import work
from textual.message import Message
from textual.widget import Widget
from textual.worker import get_current_worker

from tui.errors import SgltuiError
from tui.logs.file import LogFile
from tui.logs.matches import MatchIndex
from tui.logs.moments import find_moment
from tui.logs.pattern import Pattern
from tui.logs.search import find_line
from tui.logs.sieve import Sieve


class Quest(Struct, frozen=True):
    """What is looked for.

    Attributes:
        start: offset to begin at; backwards, lines before it are looked at.
        turns: with nothing in this direction, the other one is tried.
        words: what it is called where nothing is found.
        places: offsets of lines that are looked for, too, whatever they say.
        advice: what is said behind that nothing is found.
    """

    path: Path
    sieve: Sieve
    start: int
    backwards: bool
    words: str
    turns: bool = False
    places: tuple[int, ...] = ()
    advice: str = ""


class LogFinder(Widget):
    """Has no looks; it looks for things in threads, and tells its parent by messages. A new quest ends the old one."""

    DEFAULT_CSS = "LogFinder { display: none; }"

    @dataclass
    class Found(Message):
        """The offset of a line, or None and why there is none."""

        offset: int | None
        why: str = ""

    @dataclass
    class Counted(Message):
        """More of the log was counted, or all of it."""

        matches: MatchIndex
        is_over: bool

    @work(thread=True, exclusive=True, group="find")
    def find(self, quest: Quest) -> None:
        """Find a line."""
        worker = get_current_worker()
        try:
            offset = _look(quest, lambda: worker.is_cancelled)
        except SgltuiError as error:
            self.post_message(self.Found(None, str(error)))
            return
        if not worker.is_cancelled:
            where = "in this log" if quest.turns else "above" if quest.backwards else "below"
            why = f"no {quest.words} {where}{quest.advice}"
            self.post_message(self.Found(offset, "" if offset is not None else why))

    @work(thread=True, exclusive=True, group="find")
    def find_moment(self, path: Path, date: str, time: str) -> None:
        """Find the first line at or after a moment."""
        try:
            file = LogFile.open(path)
            offset = None
            if file is not None:
                with closing(file):
                    offset = find_moment(file, date, time)
        except SgltuiError as error:
            self.post_message(self.Found(None, str(error)))
        else:
            when = f"{date} {time}".strip()
            self.post_message(self.Found(offset, "" if offset is not None else f"no line is stamped {when} or later"))

    @work(thread=True, exclusive=True, group="count")
    def count(self, path: Path, pattern: Pattern, counted: MatchIndex | None = None) -> None:
        """Count the lines that match, or go on with counting them."""
        worker = get_current_worker()
        matches, told = counted or MatchIndex(path, pattern, place=0), -1.0
        while not worker.is_cancelled and matches.update():
            if (done := matches.done) - told > 0.1:  # noqa: PLR2004 - a repaint for each tenth of the log
                told = done
                self.post_message(self.Counted(matches, is_over=False))
        if worker.is_cancelled:
            matches.close()
        else:
            self.post_message(self.Counted(matches, is_over=True))

    def forget(self) -> None:
        """End what is under way."""
        self.workers.cancel_node(self)


def _look(quest: Quest, is_over: Callable[[], bool]) -> int | None:
    file = LogFile.open(quest.path)
    if file is None:
        return None
    with closing(file):
        found = find_line(file, quest.sieve, quest.start, backwards=quest.backwards, is_over=is_over)
        found = _nearest(quest, found)
        if found is None and quest.turns:
            found = find_line(file, quest.sieve, quest.start, backwards=not quest.backwards, is_over=is_over)
        return found


def _nearest(quest: Quest, found: int | None) -> int | None:
    """Of what was found and the known places in that direction, what comes first."""
    places = [place for place in quest.places if (place < quest.start) == quest.backwards]
    if found is not None:
        places.append(found)
    return (max if quest.backwards else min)(places, default=None)
