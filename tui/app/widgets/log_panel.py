"""The log of the selected server under a title that says whose, which launch, and whether it is followed."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content

from tui.app.widgets.log_view import LogView
from tui.app.words import Glyphs
from tui.observe import Instance


class LogPanel(Vertical):
    """Reads its file only when it is told to."""

    def __init__(self, glyphs: Glyphs, *, id: str, classes: str) -> None:  # noqa: A002 Textual's own name
        super().__init__(id=id, classes=classes)
        self._glyphs = glyphs
        self._whose: str | None = None
        self._title = ""

    def compose(self) -> ComposeResult:
        """One log."""
        yield LogView(ascii=self._glyphs.ascii_only)

    @property
    def log_view(self) -> LogView:
        """The log."""
        return self.query_one(LogView)

    def show(self, one: Instance | None) -> None:
        """Show the log of this server's launch, or none."""
        plain = self._glyphs.plain
        self._whose = None if one is None else f"{plain(one.name)}/{plain(one.launch)}"
        self.log_view.show(None if one is None else one.log_path)
        self._show_title()

    def refresh_lines(self) -> None:
        """Read what was appended."""
        self.log_view.refresh_lines()
        self._show_title()

    def toggle_following(self) -> None:
        """Follow the log's end, or stay."""
        self.log_view.following = not self.log_view.following
        self._show_title()

    def on_mount(self) -> None:
        """Nothing is selected yet."""
        self._show_title()

    def _show_title(self) -> None:
        title = self._title_words()
        if title != self._title:
            self._title = title
            self.border_title = Content(title)

    def _title_words(self) -> str:
        if self._whose is None:
            return " Log "
        view = self.log_view
        count = f", {view.line_count} lines" if view.is_counted else ""
        mode = "following" if view.following else f"F follows{count}"
        return f" Log {self._glyphs.pointer} {self._whose} {self._glyphs.rule} {mode} "
