"""The smallest Textual app, for `bench/screen.py`."""

from __future__ import annotations

from textual.app import App, ComposeResult
from textual.widgets import Static


class Hello(App[None]):
    """One line."""

    def compose(self) -> ComposeResult:
        """The line."""
        yield Static("hello READY-MARK")


if __name__ == "__main__":
    Hello().run()
