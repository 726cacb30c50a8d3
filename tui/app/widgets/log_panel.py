"""The log of the selected server under a title that says whose it is, how that is, and whether the log is followed."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content

from tui.app.glyphs import Glyphs
from tui.app.widgets.log_view import LogView
from tui.app.words import state_words
from tui.keeper.states import ALIVE
from tui.observe import Instance

_FRAME_CELLS = 4  # corners and blanks that a border's title leaves
_WHOSE_LEAST = 10
_NARROW_BELOW_CELLS = 100  # the table of servers has no room for ports then


class LogPanel(Vertical):
    """Reads its file only when it is told to."""

    def __init__(self, glyphs: Glyphs, *, id: str, classes: str) -> None:  # noqa: A002 Textual's own name
        super().__init__(id=id, classes=classes)
        self._glyphs = glyphs
        self._one: Instance | None = None
        self._is_zoomed = False
        self._title = ""

    def compose(self) -> ComposeResult:
        """One log."""
        yield LogView(ascii=self._glyphs.ascii_only)

    @property
    def log_view(self) -> LogView:
        """The log."""
        return self.query_one(LogView)

    def show(self, one: Instance | None, absent: str, *, zoomed: bool) -> None:
        """Show the log of this server's launch, or the words `absent`; zoomed: nothing else is on the screen."""
        self._one, self._is_zoomed = one, zoomed
        self.log_view.show(None if one is None else one.log_path, absent)
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

    def on_resize(self) -> None:
        """The title says more, or less."""
        self._show_title()

    def _show_title(self) -> None:
        title = self._title_words()
        if title != self._title:
            self._title = title
            self.border_title = Content(title)

    def _title_words(self) -> str:
        one, glyphs = self._one, self._glyphs
        if one is None:
            return " Log "
        rule = f" {glyphs.rule} "
        about = rule.join(words for words in (self._state_words(one), self._mode_words(one)) if words)
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
        return f"{'G goes to its end' if is_over else 'F follows'}{count}"
