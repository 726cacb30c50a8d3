"""The terminal between the start of the program and that of Textual, and what is shown on it in the meantime."""

from __future__ import annotations

import io
import os
import shutil
import socket
import termios
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from typing import Any, Literal, TextIO, cast

from rich.console import Console
from textual import constants
from textual.color import Color
from textual.filter import Monochrome, NoColor
from textual.strip import Strip

from tui.app.colors import PALETTES, Palette, as_colourful, usual, variables_of
from tui.app.first_frame import Frame, draw
from tui.app.glyphs import ASCII, UNICODE
from tui.app.layout import Layout, LayoutFile
from tui.app.pencil import Pencil, cells_of, color_system
from tui.app.screens.sizes import LEAST_COLUMNS, LEAST_LINES, limit_percent
from tui.errors import SgltuiError
from tui.observe import Snapshot
from tui.settings import Settings

ENTER_SCREEN = "\x1b[?1049h"
_LEAVE_SCREEN, _HIDE_CURSOR, _SHOW_CURSOR = "\x1b[?1049l", "\x1b[?25l", "\x1b[?25h"
_LOCAL_MODES, _CHARACTERS = 3, 6  # in what termios tells
_NEVER = b"\0"  # the key of a terminal's function that has none (_POSIX_VDISABLE)


class Opening:
    """A terminal that a person looks at already. Keys are kept for later, but for Ctrl-C, which ends the program.

    Args:
        keys: where they come from.
        screen: what is written to; Textual's own is stderr.
    """

    def __init__(self, keys: TextIO, screen: TextIO) -> None:
        self._keys = keys
        self._screen = screen
        self._before: list[Any] | None = None  # the terminal's modes
        self._is_shown = False

    def show_first(
        self,
        snapshot: Snapshot,
        settings: Settings,
        layout_file: LayoutFile,
        *,
        read_only: bool,
        ascii_only: bool,
    ) -> None:
        """Show the first look until the UI does; nothing where that isn't a terminal, or too small for a dashboard.

        Args:
            snapshot: what was seen.
            settings: as a person made them.
            layout_file: where it is kept how a person arranged the screen.
            read_only: as for the UI.
            ascii_only: likewise.
        """
        if not self._screen.isatty():
            return
        size = shutil.get_terminal_size()  # as Textual asks for it
        layout = _layout(layout_file)
        palette = _palette((os.environ.get("TEXTUAL_THEME"), settings.theme, layout.theme))
        if size.columns < LEAST_COLUMNS or size.lines < LEAST_LINES:
            return
        gpus_percent = None if "gpus" in layout.hidden else limit_percent("gpus", layout.sizes.get("gpus", 0))
        frame = Frame(
            size=(size.columns, size.lines),
            colors=variables_of(palette),
            glyphs=ASCII if ascii_only else UNICODE,
            where=socket.gethostname(),
            read_only=read_only,
            gpus_percent=gpus_percent,
            servers_percent=limit_percent("servers", layout.sizes.get("servers", 0)),
        )
        rows = draw(snapshot, frame)
        if "NO_COLOR" in os.environ:
            rows = _without_colour(rows, is_ansi=palette.get("ansi", False))
        self._show(_sequences(rows))

    def hand_over(self) -> bool:
        """The UI has the terminal from now on; True: it is on the screen that it wants already."""
        was_shown, self._is_shown = self._is_shown, False
        return was_shown

    def close(self) -> None:
        """As it was; what the UI was given it has given back itself."""
        with suppress(termios.error, OSError):  # the terminal is gone, and nobody sees how it is left
            if self._before is not None:
                termios.tcsetattr(self._keys, termios.TCSANOW, self._before)
            if self.hand_over():  # it never came
                self._write(_LEAVE_SCREEN + _SHOW_CURSOR)

    def _show(self, frame: str) -> None:
        self._hold_keys()
        self._is_shown = True
        self._write(ENTER_SCREEN + _HIDE_CURSOR + frame)

    def _hold_keys(self) -> None:
        """Not shown, and not held back until Enter is pressed."""
        self._before = termios.tcgetattr(self._keys)
        held = termios.tcgetattr(self._keys)
        held[_LOCAL_MODES] &= ~(termios.ECHO | termios.ICANON)
        held[_CHARACTERS][termios.VSUSP] = _NEVER  # whoever stopped it now would be left with half a screen
        termios.tcsetattr(self._keys, termios.TCSANOW, held)

    def _write(self, data: str) -> None:
        self._screen.write(data)
        self._screen.flush()


@contextmanager
def opening(keys: TextIO, screen: TextIO) -> Iterator[Opening]:
    """A terminal that is as it was afterwards."""
    one = Opening(keys, screen)
    try:
        yield one
    finally:
        one.close()


def _layout(file: LayoutFile) -> Layout:
    try:
        return file.read()
    except SgltuiError:  # the UI reads it, too, and says so
        return Layout()


def _palette(wishes: Iterable[str | None]) -> Palette:
    """Of the first theme that there is among the wishes."""
    for wish in filter(None, wishes):
        if wish in PALETTES:
            return PALETTES[as_colourful(wish, os.environ)]
        from textual.theme import BUILTIN_THEMES  # noqa: PLC0415 - a quarter of Textual comes with it

        if wish in BUILTIN_THEMES:
            return asdict(BUILTIN_THEMES[wish])
    return PALETTES[as_colourful(usual(os.environ), os.environ)]


def _sequences(rows: Sequence[Strip]) -> str:
    """What makes a terminal show these rows."""
    wanted = cast("Literal['auto']", constants.COLOR_SYSTEM)  # Textual has it as any text
    console = Console(file=io.StringIO(), force_terminal=True, color_system=wanted, legacy_windows=False)
    pencil, system = Pencil(), color_system(console)
    for y, row in enumerate(rows):
        pencil.write(0, y, cells_of(row, system))
    return pencil.done()


def _without_colour(rows: Sequence[Strip], *, is_ansi: bool) -> list[Strip]:
    """As Textual does it."""
    taking, any_ground = NoColor() if is_ansi else Monochrome(), Color(0, 0, 0)  # neither looks at it
    return [row.apply_filter(taking, any_ground) for row in rows]
