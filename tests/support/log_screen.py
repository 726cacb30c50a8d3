"""A log view alone on a screen, and what it shows."""

from __future__ import annotations

import re
from pathlib import Path

from textual.app import App, ComposeResult
from textual.strip import Strip

from tui.app.widgets.log_view import LogView

TERM = Path(__file__).parents[1] / "fixtures" / "real" / "0.5.11" / "term.log"
SIZES = [(80, 24), (160, 48)]


class Host(App[None]):
    """Nothing but a log view."""

    def __init__(self, path: Path | None, *, ascii_only: bool = False) -> None:
        super().__init__()
        self._path = path
        self.view = Watched(ascii=ascii_only)

    def compose(self) -> ComposeResult:
        yield self.view

    def on_mount(self) -> None:
        self.view.show(self._path)
        self.view.focus()


class Watched(LogView):
    """Counts the rows that were repainted."""

    repainted = 0

    def render_line(self, y: int) -> Strip:
        self.repainted += 1
        return super().render_line(y)


def rows(view: LogView) -> list[str]:
    return [view.render_line(y).text for y in range(view.size.height)]


def shown(line: str, width: int) -> str:
    """A plain line as it should stand in a window: below 100 columns without its date, and with `…` where it is cut."""
    if width < 100:
        line = re.sub(r"^\[\d{4}-\d\d-\d\d (\d\d:\d\d:\d\d(?: TP\d)?)\] ", r"\1 ", line)
    room = width - 3  # between gutter and scroll bar
    if len(line) <= room:
        return line.ljust(room)
    kept = line[: room - 1]
    if line[room - 1] in "0123456789.,":
        kept = kept.rstrip("0123456789.,")
    return f"{kept}…".ljust(room)


def follows(app: Host) -> bool:
    return app.view.following


def screen(app: App[None]) -> list[str]:
    """What the terminal shows: the rows that the compositor put together."""
    return ["".join(segment.text for segment in strip) for strip in app.screen._compositor.render_strips()]
