"""Calling somebody who looks elsewhere, by what terminals offer: the bell, a desktop notification, the window's title.

Nothing of it is drawn, so it reaches a person whose window is hidden, or another tab is in front.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from tui.text import printable

BELL, DESKTOP, TITLE = "bell", "desktop", "title"

_LONGEST = 200
_BEL, _ESC = "\x07", "\x1b"
_KEEP_TITLE, _TITLE_BACK = f"{_ESC}[22;2t", f"{_ESC}[23;2t"  # xterm's stack of titles


class Calls:
    """Writes to the terminal in the ways that a person wants.

    Args:
        ways: of `bell`, `desktop` and `title`; none: nothing is ever written.
        write: to the terminal.
        environ: tells whether tmux stands in between.
    """

    def __init__(self, ways: Collection[str], write: Callable[[str], object], environ: Mapping[str, str]) -> None:
        self._ways = ways
        self._write = write
        self._is_in_tmux = bool(environ.get("TMUX"))
        self._title: str | None = None

    def call(self, text: str) -> None:
        """Something happened."""
        if DESKTOP in self._ways:
            self._write(self._passed_on(f"{_ESC}]9;sgltui: {_safe(text)}{_BEL}"))
        if BELL in self._ways:
            self._write(_BEL)

    def show_title(self, text: str) -> None:
        """Name the window; the same name isn't written twice."""
        if TITLE in self._ways and text != self._title:
            keep = _KEEP_TITLE if self._title is None else ""
            self._title = text
            self._write(f"{keep}{_ESC}]2;{_safe(text)}{_BEL}")

    def end(self) -> None:
        """Give the window its old title back."""
        if self._title is not None:
            self._title = None
            self._write(_TITLE_BACK)

    def _passed_on(self, sequence: str) -> str:
        """Through tmux, which keeps for itself what it doesn't know; it passes this on with `allow-passthrough on`."""
        return f"{_ESC}Ptmux;{sequence.replace(_ESC, _ESC * 2)}{_ESC}\\" if self._is_in_tmux else sequence


def _safe(text: str) -> str:
    """Without anything that could end the sequence, or begin another one."""
    return printable(text)[:_LONGEST]
