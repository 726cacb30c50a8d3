"""What can be done with a log besides scrolling: search, filter, problems, jumps, copies, the pager."""

from __future__ import annotations

from contextlib import suppress
from typing import ClassVar

from textual import on
from textual.app import ComposeResult, SuspendNotSupported
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content

from tui.app.command import bindings
from tui.app.commands.log import LOG_TOOLS, PAUSE, SEARCH
from tui.app.glyphs import Glyphs
from tui.app.keys import keys_of
from tui.app.messages import Explained, Remember
from tui.app.widgets.log_finder import LogFinder, Quest
from tui.app.widgets.log_pager import show_in_pager
from tui.app.widgets.log_prompt import LogPrompt
from tui.app.widgets.log_view import LogView
from tui.app.widgets.text_line import TextLine
from tui.diagnosis.problems import KnownProblems
from tui.errors import SgltuiError
from tui.logs.matches import MatchIndex
from tui.logs.moments import parse_moment
from tui.logs.pattern import Pattern, compile_pattern
from tui.logs.sieve import All, Hidden, Sieve

_WHOLE = 100


class LogTools(Vertical):
    """A log view, a line that tells of search and filter, and a prompt.

    Attributes:
        log_view: the log.
    """

    DEFAULT_CSS = "LogTools { layers: base prompt; }"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(LOG_TOOLS)]

    def __init__(self, glyphs: Glyphs, *, id: str, classes: str) -> None:  # noqa: A002 Textual's own name
        super().__init__(id=id, classes=classes)
        self.log_view = LogView(ascii=glyphs.ascii_only)
        self._glyphs = glyphs
        self._only: Pattern | None = None
        self._hidden = Hidden()
        self._counted: MatchIndex | None = None
        self._is_to_be_counted = self._is_counting = False
        self._trouble = ""

    def compose(self) -> ComposeResult:
        """One log."""
        yield self.log_view
        yield TextLine(id="log-status")
        yield LogPrompt()
        yield LogFinder()

    def begin_anew(self) -> None:
        """Another log: what was looked for in the last one is forgotten; which lines a person hides isn't."""
        self._only, self._trouble = None, ""
        self._drop_count()
        self.query_one(LogFinder).forget()
        self.log_view.highlight(None)
        self.show_status()

    def restore(self, *, wrap: bool, hide_access: bool, hide_batch: bool) -> None:
        """As a person left it the last time; to be said before it is on the screen."""
        self.log_view.set_reactive(LogView.wrapped, wrap)
        self._hidden = Hidden(hide_access, hide_batch)

    def hide_again(self) -> None:
        """In a log that was just opened, what a person hid in others."""
        if self._hidden != Hidden():
            self._sift()

    def show_all(self) -> None:
        """Every line, whatever was filtered out."""
        if self._only is not None or self._hidden != Hidden():
            self._only, self._hidden = None, Hidden()
            self._sift()

    def action_ask(self, prompt: str) -> None:
        """Open the prompt."""
        if self.log_view.path is not None:
            self.query_one(LogPrompt).ask(prompt)

    def action_again(self, backwards: bool) -> None:
        """The next match."""
        pattern = self.log_view.pattern
        if pattern is None:
            self._tell(f"nothing was searched for yet{_way(keys_of(self).first(SEARCH), '; {} asks')}")
        else:
            self._find(pattern, f"match of {pattern.text}", backwards=backwards)

    def action_problem(self, backwards: bool) -> None:
        """The next problem; from the end of a log whose failure is understood, the line that says what happened."""
        view = self.log_view
        root = view.marks.root if view.following and self._only is None else None
        if root is not None:
            view.select(root)
        else:
            self._find(
                KnownProblems(), "problem", backwards=backwards or view.following, places=tuple(view.marks.marks)
            )

    def action_hide(self, what: str) -> None:
        """Hide one of the two kinds that fill a log, or show it again."""
        access, batch = self._hidden.access, self._hidden.batch
        self._hidden = Hidden(access != (what == "access"), batch != (what == "batch"))
        self.post_message(Remember({"hide_access": self._hidden.access, "hide_batch": self._hidden.batch}))
        self._sift()

    def action_wrap(self) -> None:
        """Wrap long lines, or cut them."""
        self.log_view.wrapped = not self.log_view.wrapped
        self.post_message(Remember({"wrap": self.log_view.wrapped}))

    def action_pause(self) -> None:
        """Nothing moves, or it goes on."""
        self.log_view.paused = not self.log_view.paused
        self.log_view.refresh_lines()
        self.show_status()

    def action_copy(self) -> None:
        """To the terminal's clipboard (OSC 52)."""
        text = self.log_view.text_to_copy()
        self.app.copy_to_clipboard(text)
        lines = text.count("\n") + 1
        self.post_message(Explained(f"copied {lines} line{'s' if lines > 1 else ''}, where the terminal allows it"))

    def action_pager(self) -> None:
        """Leave the screen to the pager until it ends."""
        view = self.log_view
        if view.path is None:
            return
        try:
            with self.app.suspend():
                show_in_pager(view.path, view.here() or 0)
        except SuspendNotSupported:
            self._tell("there is no terminal here that a pager could have")
        except SgltuiError as error:
            self._tell(str(error))

    def show_status(self) -> None:
        """Tell what is looked for and shown."""
        words = [self._trouble, self._search_words(), self._filter_words()]
        if self.log_view.is_awaiting_number:
            words.append("counting lines up to the one that was asked for")
        if self.log_view.paused:
            words.append(f"PAUSED{_way(keys_of(self).first(PAUSE), ': {} goes on')}")
        shown = f" {self._glyphs.rule} ".join(self._glyphs.plain(word) for word in words if word)
        self.query_one("#log-status", TextLine).show(Content(f" {shown}" if shown else ""))

    @on(LogPrompt.Answered)
    def _answered(self, event: LogPrompt.Answered) -> None:
        event.stop()
        self.screen.set_focus(self.log_view)
        if event.text is None:
            return
        self._trouble = ""
        try:
            {"search": self._search, "filter": self._filter, "go": self._go}[event.prompt](event.text)
        except SgltuiError as error:
            self._tell(str(error))

    @on(LogFinder.Found)
    def _found(self, event: LogFinder.Found) -> None:
        event.stop()
        self._trouble = event.why
        view = self.log_view
        if view.window is not None:
            view.window.hold(held=False)
        if event.offset is not None:
            view.select(event.offset)
        if self._is_to_be_counted and view.path is not None and view.pattern is not None:
            self._is_to_be_counted = False  # not before: both at once would take twice the time
            self._is_counting = True
            self.query_one(LogFinder).count(view.path, view.pattern)
        self.show_status()

    @on(LogFinder.Counted)
    def _was_counted(self, event: LogFinder.Counted) -> None:
        event.stop()
        self._counted, self._is_counting = event.matches, not event.is_over
        self.show_status()

    def _search(self, text: str) -> None:
        view = self.log_view
        self._drop_count()
        view.highlight(compile_pattern(text) if text else None)
        if view.pattern is not None and view.path is not None:
            self._is_to_be_counted = True
            self._find(view.pattern, f"match of {text}", backwards=view.following, from_here=True)
        self.show_status()

    def _filter(self, text: str) -> None:
        self._only = compile_pattern(text) if text else None
        self._sift()

    def _sift(self) -> None:
        sieves: list[Sieve] = [] if self._only is None else [self._only]
        if self._hidden != Hidden():
            sieves.append(self._hidden)
        self.log_view.show_only(All(tuple(sieves)) if sieves else None)
        self.show_status()

    def _go(self, text: str) -> None:
        view, word = self.log_view, text.strip()
        if view.window is None:
            return
        if word.isdecimal():
            view.select_number(max(0, int(word) - 1))
        elif word.removesuffix("%").isdecimal():
            start, end = view.window.bounds()
            part = min(int(word.removesuffix("%")), _WHOLE)
            view.select(start + max(0, end - 1 - start) * part // _WHOLE)
        elif (moment := parse_moment(word)) is not None and view.path is not None:
            self.query_one(LogFinder).find_moment(view.path, *moment)
        else:
            raise SgltuiError(f"{word!r} is no time, percentage or line", "for example 12:30, 50% or 1000")

    def _find(
        self, sieve: Sieve, words: str, *, backwards: bool, from_here: bool = False, places: tuple[int, ...] = ()
    ) -> None:
        view = self.log_view
        if view.path is None or view.window is None:
            return
        behind = not backwards and not (from_here and view.selected is None)
        start = view.window.size() if view.following else view.here(behind=behind)
        sifted = sieve if self._only is None and self._hidden == Hidden() else All((sieve, *self._sieves()))
        known = places if self._only is None else ()  # a filter may leave them out
        advice = "; case counts, (?i) in front ignores it" if isinstance(sieve, Pattern) and sieve.minds_case else ""
        quest = Quest(view.path, sifted, start or 0, backwards, words, turns=from_here, places=known, advice=advice)
        view.window.hold(held=True)
        self.query_one(LogFinder).find(quest)

    def _sieves(self) -> list[Sieve]:
        return [self._hidden] if self._only is None else [self._only, self._hidden]

    def _search_words(self) -> str:
        pattern, counted = self.log_view.pattern, self._counted
        if pattern is None:
            return ""
        if counted is None:
            return f"/{pattern.text}"
        view, place = self.log_view, ""
        with suppress(SgltuiError):  # the view's next look at the file meets it too, and shows it
            self._count_on(counted)
            here = view.here() if view.selected is not None else None
            number = counted.line_at(here) if here is not None and counted.covers(here) else None
            if number is not None and counted.offset_of(number) == here:  # else the line is no match
                place = f"{number + 1} of "
        total = f"{counted.count}" if counted.done >= 1 else f"{counted.count}+ ({counted.done:.0%} searched)"
        return f"/{pattern.text}: {place}{total}"

    def _count_on(self, counted: MatchIndex) -> None:
        """Count what was appended, here or, if it is much, in a thread."""
        path, pattern = self.log_view.path, self.log_view.pattern
        if self._is_counting or not counted.update() or counted.done >= 1 or path is None or pattern is None:
            return
        self._is_counting = True
        self.query_one(LogFinder).count(path, pattern, counted)

    def _filter_words(self) -> str:
        window = self.log_view.window
        words = [f"only {self._only.text}"] if self._only is not None else []
        words += ["no access lines"] * self._hidden.access + ["no Prefill and Decode lines"] * self._hidden.batch
        if not words or window is None:
            return ""
        done = window.looked_through
        return f"{', '.join(words)}: {window.found} lines" + (f" ({done:.0%} looked through)" if done < 1 else "")

    def _drop_count(self) -> None:
        self._is_counting = False
        if self._counted is not None:
            self._counted.close()
            self._counted = None

    def _tell(self, words: str) -> None:
        self._trouble = words
        self.show_status()


def _way(key: str, words: str) -> str:
    """The words that name a key, where there is one."""
    return words.format(key) if key else ""
