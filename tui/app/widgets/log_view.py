"""A log of any size: only the lines on the screen are read, made safe and styled."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from rich.style import Style
from textual.binding import Binding, BindingType
from textual.cache import LRUCache
from textual.geometry import Size
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from tui.app.widgets.log_line import COMPONENTS, GUTTER_CELLS, LogLine, draw_line, draw_notice
from tui.errors import SgltuiError
from tui.logs.index import LineIndex
from tui.logs.text import sanitize
from tui.logs.window import Change, LogWindow

_CACHED_LINES = 1000
_NARROW_BELOW_CELLS = 100
_BAR_TOLERANCE = 1.02  # below this growth nobody sees the scroll bar change, but a repaint costs 2 kB
_NO_CHANGE = Change(changed=False)


@dataclass(frozen=True, slots=True)
class _Rows:
    """What the rows are: words of our own above, if any, then the lines of an index.

    Attributes:
        settled: rows that stay as they are; the one behind them is a line that isn't finished.
    """

    notice: str = ""
    lines: LineIndex | None = None
    generation: int = 0
    count: int = 0
    settled: int = 0

    @classmethod
    def of(cls, notice: str, lines: LineIndex) -> _Rows:
        """The rows as they are now."""
        count = bool(notice) + lines.count
        return cls(notice, lines, lines.generation, count, count - lines.unfinished)

    @classmethod
    def only(cls, notice: str) -> _Rows:
        """Nothing but words of our own."""
        return cls(notice, count=1, settled=1)

    def follow_on(self, earlier: _Rows) -> bool:
        """Whether these are the earlier rows, and perhaps more."""
        return (self.notice, self.lines, self.generation) == (earlier.notice, earlier.lines, earlier.generation)


class LogView(ScrollView, can_focus=True):
    """Shows one log file and follows its end. Nothing is read, and nothing repainted, but by `refresh_lines`.

    Attributes:
        following: the end of the log stays in view. Scrolling up stops it; `G`, End and `F` resume it.
        column: first cell of the lines that is in view.
        ascii: signs for a terminal without Unicode; to be set before a log is shown.
    """

    ALLOW_SELECT = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {f"log-view--{name}" for name in COMPONENTS}
    DEFAULT_CSS = """
    LogView {
        background: $background;
        overflow-x: hidden;
        overflow-y: scroll;
        scrollbar-size-vertical: 1;
    }
    LogView > .log-view--time { color: $text-muted; }
    LogView > .log-view--ranks { color: $text-accent; }
    LogView > .log-view--access { color: $text-muted; }
    LogView > .log-view--warning { color: $text-warning; }
    LogView > .log-view--error { color: $text-error; text-style: bold; }
    LogView > .log-view--traceback { color: $text-error; }
    LogView > .log-view--ready { text-style: bold; }
    LogView > .log-view--notice { color: $text-muted; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "scroll_up", "Up", id="log.up", show=False),
        Binding("down,j", "scroll_down", "Down", id="log.down", show=False),
        Binding("pageup", "page_up", "Page up", id="log.page-up", show=False),
        Binding("pagedown", "page_down", "Page down", id="log.page-down", show=False),
        Binding("home,g", "scroll_home", "First line", id="log.first", show=False),
        Binding("end,G", "scroll_end", "Follow the end", id="log.last", show=False),
        Binding("left", "scroll_left", "Left", id="log.left", show=False),
        Binding("right", "scroll_right", "Right", id="log.right", show=False),
        Binding(
            "F", "toggle_following", "Follow", id="log.follow", show=False, tooltip="Follow the log's end, or stop"
        ),
    ]

    following: reactive[bool] = reactive(True, init=False, repaint=False)
    column: reactive[int] = reactive(0, init=False)

    def __init__(self, *, ascii: bool = False, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - id is Textual's name, ascii the option's
        super().__init__(id=id, classes=classes)
        self.ascii = ascii
        self._window: LogWindow | None = None
        self._absent = "no log"
        self._is_narrow = False
        self._restart = ""  # why the first line isn't the one that was first before
        self._rows = _Rows()
        self._drawn: LRUCache[int, LogLine] = LRUCache(_CACHED_LINES)

    @property
    def path(self) -> Path | None:
        """The log that is shown."""
        return self._window.path if self._window is not None else None

    @property
    def line_count(self) -> int:
        """Lines of the log; while a large one is being counted, only those at its end."""
        return self._window.lines.count if self._window is not None else 0

    @property
    def is_counted(self) -> bool:
        """Whether `line_count` is that of the whole log."""
        return self._window is None or self._window.is_whole

    def show(self, path: Path | None, absent: str = "no log") -> None:
        """Show this log from its end, or these words where there is none; does nothing when it is shown already."""
        if path == self.path and absent == self._absent:
            return
        self._absent = absent
        if path is None or path != self.path:
            self._open(path)

    def _open(self, path: Path | None) -> None:
        self._close()
        self._window = LogWindow(path) if path is not None else None
        self._restart = ""
        self.column = 0
        self.following = True
        if self.is_attached:
            self.refresh_lines()

    def refresh_lines(self, y_start: int | None = None, line_count: int = 1) -> None:
        """Read what was appended to the log and repaint what changed; the app calls it a few times a second.

        With `y_start` it only repaints those rows, as `ScrollView` has it.
        """
        if y_start is not None:
            super().refresh_lines(y_start, line_count)
        elif self._window is None:
            self._show_rows(_Rows.only(self._absent))
        else:
            self._look(self._window)

    def render_line(self, y: int) -> Strip:
        """One row of the screen."""
        width = self.scrollable_content_region.width
        row = self.scroll_offset.y + y
        line = self._line(row) if row < self._rows.count else None
        return line.crop(self.column, width, self.rich_style) if line else Strip.blank(width, self.rich_style)

    def notify_style_update(self) -> None:
        """Other colours: draw anew."""
        super().notify_style_update()
        self._drawn.clear()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Going up stops following; being moved because the log became shorter doesn't."""
        self.vertical_scrollbar.window_virtual_size = self.virtual_size.height
        super().watch_scroll_y(old_value, new_value)
        if new_value < min(old_value, self.max_scroll_y):
            self.following = False

    def watch_following(self, following: bool) -> None:
        """Go to the end at once."""
        if following:
            self._go_to(self._rows.count)

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
        if self.following:
            self._go_to(self._rows.count)

    def on_unmount(self) -> None:
        """Let go of the file."""
        self._close()

    def action_toggle_following(self) -> None:
        """Follow the end, or stay here."""
        self.following = not self.following

    def action_scroll_up(self) -> None:
        """Up one line."""
        self._go_to(self.scroll_offset.y - 1)

    def action_scroll_down(self) -> None:
        """Down one line."""
        self._go_to(self.scroll_offset.y + 1)

    def action_page_up(self) -> None:
        """Up one screen, less one line."""
        self._go_to(self.scroll_offset.y - max(1, self._height - 1))

    def action_page_down(self) -> None:
        """Down one screen, less one line."""
        self._go_to(self.scroll_offset.y + max(1, self._height - 1))

    def action_scroll_home(self) -> None:
        """To the first line, and to its beginning."""
        self.column = 0
        self._go_to(0)

    def action_scroll_end(self) -> None:
        """To the last line, and follow it."""
        self.following = True

    def action_scroll_left(self) -> None:
        """Half a screen towards the beginning of the lines."""
        self.column = max(0, self.column - self._text_width // 2)

    def action_scroll_right(self) -> None:
        """Half a screen towards the end of the longest line in view."""
        top = self.scroll_offset.y
        lines = [line for row in range(top, top + self._height) if (line := self._drawn.get(row)) is not None]
        longest = max((line.text.cell_length for line in lines), default=0)
        self.column = max(self.column, min(self.column + self._text_width // 2, longest - self._text_width))

    @property
    def _height(self) -> int:
        return self.scrollable_content_region.height

    @property
    def _text_width(self) -> int:
        return self.scrollable_content_region.width - GUTTER_CELLS

    def _go_to(self, row: int) -> None:
        self.scroll_to(y=row, animate=False, force=True)

    def _close(self) -> None:
        if self._window is not None:
            self._window.close()
            self._window = None

    def _look(self, window: LogWindow) -> None:
        try:
            change = window.refresh(at_end=self.following)
        except SgltuiError as error:
            self._show_rows(_Rows.only(_safe(error)))
            return
        if change.restarted:
            self._restart = "earlier lines archived" if window.lines.head_cut else "new file"
        self._show_rows(_Rows.of(self._notice(window), window.lines), change)

    def _notice(self, window: LogWindow) -> str:
        if self._restart:
            rule = "--" if self.ascii else "──"
            return f"{rule} {self._restart} {rule}"
        return "" if window.lines.count else f"nothing logged yet: {_safe(window.path)}"

    def _show_rows(self, rows: _Rows, change: Change = _NO_CHANGE) -> None:
        """Make these the rows, and repaint what is in view from the first one that isn't as before."""
        old, self._rows = self._rows, rows
        if rows == old and not change.changed:
            return
        if not rows.follow_on(old):
            self._drawn.clear()
            self.refresh()
        self._drawn.discard(old.settled)
        self._resize_to(rows.count)
        shift = change.shift + bool(rows.notice) - bool(old.notice)
        self._go_to(rows.count if self.following else self.scroll_offset.y + shift)
        super().refresh_lines(old.settled, self._height)

    def _resize_to(self, count: int) -> None:
        """Tell the scroll bar alone: setting `virtual_size` would lay out and repaint the whole view each time."""
        self.set_reactive(LogView.virtual_size, Size(1, count))
        shown = self.vertical_scrollbar.window_virtual_size
        if self.following or not shown <= count <= shown * _BAR_TOLERANCE:
            self.vertical_scrollbar.window_virtual_size = count

    def _line(self, row: int) -> LogLine | None:
        if self._drawn.get(row) is None:
            with suppress(SgltuiError):  # the next look at the file meets it too, and shows it
                self._draw_page(min(row, self.scroll_offset.y))
        return self._drawn.get(row)

    def _draw_page(self, first: int) -> None:
        """Draw the rows of one screen that aren't drawn yet."""
        above = bool(self._rows.notice)
        if above and first == 0:
            self._drawn[0] = draw_notice(self._rows.notice, self._style_of, ascii=self.ascii)
        number = max(0, first - above)
        lines = self._rows.lines.read(number, self._height) if self._rows.lines is not None else []
        for row, line in enumerate(lines, start=number + above):
            if self._drawn.get(row) is None:
                self._drawn[row] = draw_line(line, self._style_of, ascii=self.ascii, narrow=self._is_narrow)

    def _style_of(self, component: str) -> Style:
        return self.get_component_rich_style(f"log-view--{component}")


def _safe(words: object) -> str:
    """Paths can hold control characters, too."""
    return sanitize(os.fsencode(str(words)))
