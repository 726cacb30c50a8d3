"""The GPUs: who holds what, their figures, and their last minutes."""

from __future__ import annotations

import time

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content

from tui.app.glyphs import Glyphs
from tui.app.gpu_history import STEP_S, GpuHistory
from tui.app.holders import Letters
from tui.app.widgets.gpu_lines import most_lines, panel_lines, panel_title
from tui.app.widgets.room import inner_width
from tui.app.widgets.text_lines import TextLines
from tui.observe import Snapshot

_clock = time.monotonic


class GpuPanel(VerticalScroll, can_focus=True, inherit_bindings=False):
    """Draws the newest reading; a cell is repainted only when it reads differently."""

    def __init__(self, glyphs: Glyphs, *, id: str, classes: str) -> None:  # noqa: A002 Textual's own name
        super().__init__(id=id, classes=classes)
        self._title = ""
        self._glyphs = glyphs
        self._snapshot: Snapshot | None = None
        self._letters: Letters = {}
        self._history = GpuHistory()

    def compose(self) -> ComposeResult:
        """Line by line."""
        yield TextLines(fills=False)

    def show(self, snapshot: Snapshot | None, letters: Letters) -> None:
        """Show this moment; None: nothing was read yet."""
        self._snapshot, self._letters = snapshot, letters
        if snapshot is not None:
            self._history.note(snapshot.gpus, _clock())
        self._draw()

    def lose_sight(self) -> None:
        """What is shown is from before; nobody knows what the GPUs do now."""
        self._history.lose_sight(_clock())

    def on_mount(self) -> None:
        """Show what there is before the first reading; where nothing changes, the plots move on all the same."""
        self._draw()
        self.set_interval(STEP_S, self._draw)

    def on_resize(self) -> None:
        """The bars follow the width."""
        self._draw()

    def _draw(self) -> None:
        if width := inner_width(self):
            now_s = _clock()
            lines = panel_lines(
                self._snapshot,
                self._letters,
                width,
                self._glyphs,
                history=lambda uuid: self._history.of(uuid, now_s),
                height=self._most_lines,
            )
            self.query_one(TextLines).show(lines)
            self._entitle(width, len(lines))

    @property
    def _most_lines(self) -> int:
        """What it may take of the window, without its own frame."""
        limit = self.styles.max_height  # in percent, in the style sheet and by the keys
        return most_lines(self.screen.size.height, limit.value if limit is not None else 100.0)

    def _entitle(self, width: int, lines: int) -> None:
        title = panel_title(self._snapshot, width, lines, self._glyphs)
        if title != self._title:
            self._title = title
            self.border_title = Content(title)
