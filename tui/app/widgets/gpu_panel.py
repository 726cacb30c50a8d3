"""The GPUs: who holds what, their figures, and their last minutes."""

from __future__ import annotations

import time

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content

from tui.app.glyphs import Glyphs
from tui.app.gpu_history import STEP_S, GpuHistory
from tui.app.holders import Letters
from tui.app.widgets.gpu_lines import panel_lines, plot_cells
from tui.app.widgets.room import inner_width
from tui.app.widgets.text_lines import TextLines
from tui.app.words import short_gpu_name
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
            self._entitle(width, is_folded=self._snapshot is not None and len(lines) < len(self._snapshot.gpus.gpus))

    @property
    def _most_lines(self) -> int:
        """What it may take of the window, without its own frame."""
        height, limit = self.screen.size.height, self.styles.max_height
        share = limit.value / 100 if limit is not None else 1.0  # in percent, in the style sheet and by the keys
        return min(height - 2, int(height * share) - 1)

    def _entitle(self, width: int, *, is_folded: bool) -> None:
        """What the plots are; folded, there are none, and the GPUs' name stands here if it is one for all."""
        minutes = round(plot_cells(width) * STEP_S / 60)
        gpus = self._snapshot.gpus.gpus if self._snapshot is not None else ()
        plots = f"{self._glyphs.rule} at the end: use and memory of the last {minutes} min " if minutes and gpus else ""
        if is_folded:
            names = {self._glyphs.plain(short_gpu_name(gpu.name)) for gpu in gpus}
            plots = f"{self._glyphs.rule} {len(gpus)} x {names.pop()} " if len(names) == 1 else ""
        title = f" GPUs {plots}"
        if title != self._title:
            self._title = title
            self.border_title = Content(title)
