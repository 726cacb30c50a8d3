"""A log of any size: what of it is in view, and how a person moves in it."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from textual.geometry import Size
from textual.reactive import reactive

from tui.app.widgets.log_line import LINE_LIMIT
from tui.app.widgets.log_pane import LogPane
from tui.app.widgets.log_rows import Place, Rows
from tui.errors import SgltuiError
from tui.logs.sieve import Sieve
from tui.logs.text import sanitize
from tui.logs.window import Change, LogWindow

_NARROW_BELOW_CELLS = 100
_BAR_TOLERANCE = 1.02  # below this growth nobody sees the scroll bar change, but a repaint costs 2 kB
_NEAR_TOP_ROWS = 500
_NO_CHANGE = Change(changed=False)


class LogView(LogPane):
    """Shows one log file and follows its end. Nothing is read, and nothing repainted, but by `refresh_lines`.

    Attributes:
        following: the end of the log stays in view. Scrolling up stops it; `G`, End and `F` resume it.
        paused: nothing new is shown, and nothing moves.
        window: what is shown of which file.
    """

    following: reactive[bool] = reactive(True, init=False, repaint=False)
    paused: reactive[bool] = reactive(False, init=False, repaint=False)

    def __init__(self, *, ascii: bool = False, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - id is Textual's name, ascii the option's
        super().__init__(ascii=ascii, id=id, classes=classes)
        self.window: LogWindow | None = None
        self._absent = "no log"
        self._restart = ""  # why the first line isn't the one that was first before
        self._target: int | None = None  # offset of a line to be selected as soon as it is counted
        self._number: int | None = None  # of a line in the whole log, likewise
        self._is_placing = False

    @property
    def path(self) -> Path | None:
        """The log that is shown."""
        return self.window.path if self.window is not None else None

    @property
    def line_count(self) -> int:
        """Lines of the log; while a large one is being counted, only those at its end."""
        return self.window.lines.count if self.window is not None else 0

    @property
    def is_counted(self) -> bool:
        """Whether `line_count` is that of the whole log."""
        return self.window is None or self.window.is_whole

    def show(self, path: Path | None, absent: str = "no log") -> None:
        """Show this log from its end, or these words where there is none; does nothing when it is shown already."""
        if path == self.path and absent == self._absent:
            return
        self._absent = absent
        if path is None or path != self.path:
            self._open(path)

    def _open(self, path: Path | None) -> None:
        self._close()
        self.window = LogWindow(path) if path is not None else None
        self._restart = ""
        self._target = self._number = self.selected = None
        self.column = 0
        self.paused = False
        self.following = True
        if self.is_attached:
            self.refresh_lines()

    def refresh_lines(self, y_start: int | None = None, line_count: int = 1) -> None:
        """Read what was appended to the log and repaint what changed; the app calls it a few times a second.

        With `y_start` it only repaints those rows, as `ScrollView` has it.
        """
        if y_start is not None:
            super().refresh_lines(y_start, line_count)
        elif self.window is None:
            self._show_rows(Rows.only(self._absent))
        elif not self.paused:
            self._look(self.window)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Going up stops following; being moved because the log became shorter doesn't."""
        self.vertical_scrollbar.window_virtual_size = self.virtual_size.height
        super().watch_scroll_y(old_value, new_value)
        if not self._is_placing:
            self._part = 0
            if new_value < min(old_value, self.max_scroll_y):
                self.following = False

    def watch_following(self, following: bool) -> None:
        """Go to the end at once."""
        if following:
            self.paused = False
            self._target = self._number = None
            if self.window is not None and self.is_attached:
                self._look(self.window)
            self._go_to_end()

    def watch_wrapped(self) -> None:
        """The line at the top stays there, or the end in view."""
        self._part = self.column = 0
        self._resize_to(self._rows.count)
        self._stay()

    def on_mount(self) -> None:
        """Show what was asked for before, or say that there is nothing."""
        self.refresh_lines()

    def on_resize(self) -> None:
        """Stay at the end; a narrow window shows shorter stamps."""
        is_narrow = self.size.width < _NARROW_BELOW_CELLS
        if is_narrow != self._is_narrow:
            self._is_narrow = is_narrow
            self._drawn.clear()
            self.refresh()
        self._stay()

    def on_unmount(self) -> None:
        """Let go of the file."""
        self._close()

    def action_follow(self) -> None:
        """Follow the end, or stay here."""
        self.following = not self.following

    def action_scroll_up(self) -> None:
        """Up one line."""
        self._move(-1)

    def action_scroll_down(self) -> None:
        """Down one line."""
        self._move(1)

    def action_page_up(self) -> None:
        """Up one screen, less one line."""
        self._move(-max(1, self._height - 1))

    def action_page_down(self) -> None:
        """Down one screen, less one line."""
        self._move(max(1, self._height - 1))

    def action_scroll_home(self) -> None:
        """To the first line, and to its beginning."""
        self.column = 0
        self._target = self._number = None
        self._bring(self.window.start() if self.window is not None else 0)
        self._go_to(0)

    def action_scroll_end(self) -> None:
        """To the last line, and follow it."""
        self.following = True

    def show_only(self, sieve: Sieve | None) -> None:
        """Show the lines that pass, or all of them; the line at the top, or the selected one, stays in view."""
        if self.window is None:
            return
        here = None if self.following else self.here()
        self.selected = None
        self.window.show_only(sieve, here)
        self._drawn.clear()
        if here is None:
            self._look(self.window)
        else:
            self._visit(here)

    def has_news(self) -> bool:
        """Whether `refresh_lines` would find anything; a look at the file's size, and whether all was counted."""
        return self.window is not None and not self.paused and self.window.has_news()

    def select(self, offset: int) -> None:
        """Mark the line that holds an offset and bring it into view, even where nothing new is shown."""
        self._number = None
        self._visit(offset)

    def select_number(self, number: int) -> None:
        """Mark a line of the log by its number, from 0, as soon as the lines are counted so far."""
        self.following = False
        self._number = number
        if self.window is not None:
            self._look(self.window)

    @property
    def is_awaiting_number(self) -> bool:
        """Whether a line is to be marked that isn't counted yet."""
        return self._number is not None

    def here(self, *, behind: bool = False) -> int | None:
        """Offset of the selected line, or of the one behind it; of the first in view when it isn't in view."""
        if self.window is None:
            return None
        number = top = max(0, self.scroll_offset.y - bool(self._rows.notice))
        if self.selected is not None and top <= self.selected < top + self._height:
            number = self.selected + behind
        with suppress(SgltuiError):  # the next look at the file meets it too, and shows it
            return self.window.lines.offset_of(number) or (self.window.size() if number else None)
        return None

    def text_to_copy(self) -> str:
        """The selected line, else those on the screen, made safe."""
        top = max(0, self.scroll_offset.y - bool(self._rows.notice))
        first, count = (top, self._height) if self.selected is None else (self.selected, 1)
        lines = self.window.lines.read(first, count) if self.window is not None else []
        return "\n".join(sanitize(line, limit=LINE_LIMIT) for line in lines)

    def _visit(self, offset: int) -> None:
        self._target = offset
        self._bring(offset)

    def _bring(self, offset: int) -> None:
        """Have the lines around an offset among the rows."""
        self.following = False
        if self.window is None:
            return
        with suppress(SgltuiError):  # the look meets it too, and shows it
            if self.window.reach(offset):
                self.selected = None
        self._look(self.window)

    def _reach(self, offset: int) -> None:
        if self.window is None:
            return
        self._target = None
        number = self.window.lines.line_at(offset)
        self.selected = min(number, self.window.lines.count - 1)
        row = self.selected + bool(self._rows.notice)
        if not self.scroll_offset.y <= row < self.scroll_offset.y + self._height or self.wrapped:
            self._put(Place(max(0, row - self._height // 3)))
        self.refresh()

    def _go_to(self, row: int) -> None:
        self.scroll_to(y=row, animate=False, force=True)

    def _move(self, rows: int) -> None:
        if not self.wrapped:
            self._go_to(self.scroll_offset.y + rows)
            return
        wrapping = self._wrapping()
        self.following = self.following and rows > 0
        self._put(min(wrapping.moved(Place(self.scroll_offset.y, self._part), rows), wrapping.last_top(self._height)))

    def _go_to_end(self) -> None:
        if self.wrapped:
            self._put(self._wrapping().last_top(self._height))
        else:
            self._go_to(self._rows.count)

    def _put(self, place: Place) -> None:
        self._is_placing, self._part = True, place.part
        self._go_to(place.row)
        self._is_placing = False
        self.refresh()

    def _stay(self) -> None:
        if self.following:
            self._go_to_end()

    def _close(self) -> None:
        if self.window is not None:
            self.window.close()
            self.window = None

    def _look(self, window: LogWindow) -> None:
        try:
            change = window.refresh(at_end=self.following, near_top=self.scroll_offset.y < _NEAR_TOP_ROWS)
        except SgltuiError as error:
            self._show_rows(Rows.only(_safe(error)))
            return
        if change.restarted:
            self._restart = "earlier lines archived" if window.index.head_cut else "new file"
            self._target = self._number = None
        if change.trimmed:
            self._restart = "older lines were deleted"
            self._drawn.clear()
        if change.restarted or change.moved:
            self.selected = None
        self._show_rows(Rows.of(self._notice(window), window.lines), change)
        self._arrive(window)

    def _arrive(self, window: LogWindow) -> None:
        """Go where a person wanted to go, when what is there is known by now."""
        if self._number is not None:
            offset = window.offset_of(self._number)
            if offset is None and window.is_whole:
                offset = window.offset_of(window.index.count - 1) or 0
            if offset is not None:
                self.select(offset)
        elif self._target is not None and window.lines.covers(self._target):
            self._reach(self._target)

    def _notice(self, window: LogWindow) -> str:
        if self._restart:
            rule = "--" if self.ascii else "──"
            return f"{rule} {self._restart} {rule}"
        if not window.index.count:
            return f"nothing logged yet: {_safe(window.path)}"
        if window.lines.count:
            return ""
        return "no line passes the filter" if window.looked_through >= 1 else "looking for lines that pass the filter"

    def _show_rows(self, rows: Rows, change: Change = _NO_CHANGE) -> None:
        """Make these the rows, and repaint what is in view from the first one that isn't as before."""
        old, self._rows = self._rows, rows
        if rows == old and not change.changed:
            return
        if not rows.follow_on(old) or change.shift:
            self._drawn.clear()
            self.refresh()
        self._drawn.discard(old.settled)
        self._resize_to(rows.count)
        if self.selected is not None and change.shift:
            kept = self.selected + change.shift
            self.selected = kept if kept >= 0 else None
        shift = change.shift + bool(rows.notice) - bool(old.notice)
        if self.following:
            self._go_to_end()
        elif shift:
            self._put(Place(self.scroll_offset.y + shift, self._part))
        super().refresh_lines(old.settled, self._height)

    def _resize_to(self, count: int) -> None:
        """Tell the scroll bar alone: setting `virtual_size` would lay out and repaint the whole view each time."""
        # Wrapped, the last row may stand at the top.
        self.set_reactive(LogView.virtual_size, Size(1, count + self.wrapped * max(0, self._height - 1)))
        shown = self.vertical_scrollbar.window_virtual_size
        if self.following or not shown <= count <= shown * _BAR_TOLERANCE:
            self.vertical_scrollbar.window_virtual_size = count


def _safe(words: object) -> str:
    """Paths can hold control characters, too."""
    return sanitize(os.fsencode(str(words)))
