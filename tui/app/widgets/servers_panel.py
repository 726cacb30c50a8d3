"""The servers: a table, or words in its place while there is nothing to list."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content

from tui.app.commands.dashboard import LAUNCH
from tui.app.glyphs import Glyphs
from tui.app.holders import Letters
from tui.app.keys import keys_of
from tui.app.notices import Trouble
from tui.app.screens.absence import first_words
from tui.app.widgets.instance_table import InstanceTable
from tui.app.widgets.room import inner_width
from tui.app.widgets.text_line import TextLine
from tui.observe import Snapshot

_PADDING = 1  # of the words, on either side


class ServersPanel(Vertical):
    """Shows who runs and how.

    Attributes:
        table: says by `Picked` who is selected.
    """

    def __init__(self, glyphs: Glyphs, *, read_only: bool, id: str, classes: str) -> None:  # noqa: A002 Textual's own name
        super().__init__(id=id, classes=classes)
        self.border_title = Content(" Servers ")
        self.table = InstanceTable(glyphs)
        self._glyphs = glyphs
        self._read_only = read_only
        self._engine: str | Trouble | None = None
        self._snapshot: Snapshot | None = None

    def compose(self) -> ComposeResult:
        """Table or words."""
        yield self.table
        yield TextLine(classes="words")

    def show(self, snapshot: Snapshot | None, letters: Letters) -> None:
        """Show this moment; None: nothing was read yet."""
        if snapshot is not None:
            self.table.show(snapshot, letters)
        self._snapshot = snapshot
        self.table.set_class(not self._is_filled, "-empty")
        self._show_words()

    def on_resize(self) -> None:
        """The words are wrapped to the width."""
        self._show_words()

    @property
    def _is_filled(self) -> bool:
        return self._snapshot is not None and bool(self._snapshot.instances or self._snapshot.broken)

    def _show_words(self) -> None:
        self.query_one(".words", TextLine).show(Content() if self._is_filled else self._empty_words(self._snapshot))

    def show_engine(self, engine: str | Trouble) -> None:
        """What would run a server."""
        self._engine = engine

    def _empty_words(self, snapshot: Snapshot | None) -> Content:
        if snapshot is None:
            return Content.styled(f"reading{self._glyphs.ellipsis}", "$quiet")
        key = keys_of(self).first(LAUNCH) or "launch in the palette"
        width = inner_width(self) - 2 * _PADDING
        return first_words(self._engine, self._glyphs, key, width, read_only=self._read_only)
