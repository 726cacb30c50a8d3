"""A log of any size: only the lines on the screen are read, made safe and styled."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

from rich.style import Style
from textual.binding import BindingType
from textual.cache import LRUCache
from textual.geometry import Size
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from tui.app.widgets.log_keys import LOG_CSS, LOG_MOVES
from tui.app.widgets.log_line import COMPONENTS, GUTTER_CELLS, LINE_LIMIT, LogLine, draw_line, draw_notice, pointed
from tui.app.widgets.log_rows import Place, Rows, Wrapping
from tui.errors import SgltuiError
from tui.logs.pattern import Pattern
from tui.logs.sieve import Sieve
from tui.logs.text import sanitize
from tui.logs.window import Change, LogWindow

_CACHED_LINES = 1000
_NARROW_BELOW_CELLS = 100
_BAR_TOLERANCE = 1.02  # below this growth nobody sees the scroll bar change, but a repaint costs 2 kB
_NO_CHANGE = Change(changed=False)


class LogView(ScrollView, can_focus=True):
    """Shows one log file and follows its end. Nothing is read, and nothing repainted, but by `refresh_lines`.

    Attributes:
        following: the end of the log stays in view. Scrolling up stops it; `G`, End and `F` resume it.
        paused: nothing new is shown, and nothing moves.
        wrapped: lines that are too long go on in the next row, instead of to the right.
        column: first cell of the lines that is in view.
        selected: number of the line that is marked, or None.
        pattern: what is highlighted.
        window: what is shown of which file.
        ascii: signs for a terminal without Unicode; to be set before a log is shown.
    """

    ALLOW_SELECT = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {f"log-view--{name}" for name in COMPONENTS}
    DEFAULT_CSS = LOG_CSS
    BINDINGS: ClassVar[list[BindingType]] = LOG_MOVES

    following: reactive[bool] = reactive(True, init=False, repaint=False)
    paused: reactive[bool] = reactive(False, init=False, repaint=False)
    wrapped: reactive[bool] = reactive(False, init=False)
    selected: reactive[int | None] = reactive(None, init=False)
    column: reactive[int] = reactive(0, init=False)

    def __init__(self, *, ascii: bool = False, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - id is Textual's name, ascii the option's
        super().__init__(id=id, classes=classes)
        self.ascii = ascii
        self.window: LogWindow | None = None
        self._absent = "no log"
        self._is_narrow = False
        self._restart = ""  # why the first line isn't the one that was first before
        self.pattern: Pattern | None = None
        self._target: int | None = None  # offset of a line to be selected as soon as it is counted
        self._part = 0  # screen rows of the top row that are above the screen
        self._is_placing = False
        self._rows = Rows()
        self._drawn: LRUCache[int, LogLine] = LRUCache(_CACHED_LINES)
        self._styles: dict[str, Style] = {}

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
        self._target = self.selected = None
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

    def render_line(self, y: int) -> Strip:
        """One row of the screen."""
        width = self.scrollable_content_region.width
        place = self._place(y)
        line = self._line(place.row) if place is not None and place.row < self._rows.count else None
        if line is None or place is None:
            return Strip.blank(width, self._style_of(""))
        if self.wrapped:
            strip = line.part(place.part, width, self._style_of(""))
        else:
            strip = line.crop(self.column, width, self._style_of(""))
        is_selected = self.selected is not None and place.row - bool(self._rows.notice) == self.selected
        return pointed(strip, self._style_of("selected"), ascii=self.ascii) if is_selected else strip

    def _place(self, y: int) -> Place | None:
        top = Place(self.scroll_offset.y, self._part)
        if not self.wrapped:
            return Place(top.row + y)
        shown = self._wrapping().screen(top, y + 1)
        return shown[y] if len(shown) > y else None

    def _wrapping(self) -> Wrapping:
        return Wrapping(self._parts_of, self._rows.count)

    def _parts_of(self, row: int) -> int:
        line = self._line(row)
        return line.parts(self.scrollable_content_region.width) if line is not None else 1

    def notify_style_update(self) -> None:
        """Other colours: draw anew. Mostly they are the same ones, as when another panel got the keys."""
        super().notify_style_update()
        before, self._styles = self._styles, {}
        if any(self._style_of(component) != style for component, style in before.items()):
            self._drawn.clear()

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

    def action_toggle_following(self) -> None:
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
        self.following = False
        self._go_to(0)

    def action_scroll_end(self) -> None:
        """To the last line, and follow it."""
        self.following = True

    def action_scroll_left(self) -> None:
        """Half a screen towards the beginning of the lines."""
        self.column = max(0, self.column - (self.scrollable_content_region.width - GUTTER_CELLS) // 2)

    def action_scroll_right(self) -> None:
        """Half a screen towards the end of the longest line in view."""
        top = self.scroll_offset.y
        lines = [line for row in range(top, top + self._height) if (line := self._drawn.get(row)) is not None]
        longest, room = max((line.text.cell_length for line in lines), default=0), self.scrollable_content_region.width
        room -= GUTTER_CELLS
        self.column = max(self.column, min(self.column + room // 2, longest - room))

    def show_only(self, sieve: Sieve | None) -> None:
        """Show the lines that pass, or all of them; the line at the top, or the selected one, stays in view."""
        if self.window is None:
            return
        here = None if self.following else self.here()
        self.selected, self._target = None, here
        self.window.show_only(sieve)
        self._drawn.clear()
        self.refresh_lines()

    def has_news(self) -> bool:
        """Whether `refresh_lines` would find anything; a look at the file's size, and whether all was counted."""
        return self.window is not None and not self.paused and self.window.has_news()

    def highlight(self, pattern: Pattern | None) -> None:
        """Mark what matches."""
        self.pattern = pattern
        self._drawn.clear()
        self.refresh()

    def select(self, offset: int) -> None:
        """Mark the line at an offset and bring it into view, now or as soon as it is counted."""
        self.following = False
        self._target = offset
        self.refresh_lines()

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

    @property
    def _height(self) -> int:
        return self.scrollable_content_region.height

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
            change = window.refresh(at_end=self.following)
        except SgltuiError as error:
            self._show_rows(Rows.only(_safe(error)))
            return
        if change.restarted:
            self._restart = "earlier lines archived" if window.index.head_cut else "new file"
            self._target = self.selected = None
        if change.trimmed:
            self._restart = "older lines were deleted"
            self._drawn.clear()
        self._show_rows(Rows.of(self._notice(window), window.lines), change)
        if self._target is not None and window.lines.covers(self._target):
            self._reach(self._target)

    def _notice(self, window: LogWindow) -> str:
        if self._restart:
            rule = "--" if self.ascii else "──"
            return f"{rule} {self._restart} {rule}"
        if window.index.count:
            return "" if window.lines.count else "no line passes the filter"
        return f"nothing logged yet: {_safe(window.path)}"

    def _show_rows(self, rows: Rows, change: Change = _NO_CHANGE) -> None:
        """Make these the rows, and repaint what is in view from the first one that isn't as before."""
        old, self._rows = self._rows, rows
        if rows == old and not change.changed:
            return
        if not rows.follow_on(old):
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
                self._drawn[row] = draw_line(
                    line, self._style_of, ascii=self.ascii, narrow=self._is_narrow, pattern=self.pattern
                )

    def _style_of(self, component: str) -> Style:
        """The style of a component, or the view's own; asked for with every row, and slow to work out."""
        if component not in self._styles:
            own = self.get_component_rich_style(f"log-view--{component}") if component else self.rich_style
            self._styles[component] = own
        return self._styles[component]


def _safe(words: object) -> str:
    """Paths can hold control characters, too."""
    return sanitize(os.fsencode(str(words)))
