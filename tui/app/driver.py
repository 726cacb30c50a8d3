"""The terminal's driver, which also finds out how far the terminal is behind."""

from __future__ import annotations

import os
import re
import select
import time
from codecs import getincrementaldecoder
from typing import Any, Protocol, cast

from textual import constants, events
from textual._xterm_parser import XTermParser  # what Textual's own driver reads with
from textual.app import App
from textual.drivers.linux_driver import LinuxDriver
from textual.message import Message

from tui.app.link import QUESTION, Link
from tui.app.opening import ENTER_SCREEN, Opening
from tui.app.picture import Picture

FRAME_BEGINS, FRAME_ENDS = "\x1b[?2026h", "\x1b[?2026l"  # a terminal that knows these shows a frame at once
_AT_THE_END = re.compile(r"\x1b\[\d+;\d+H\Z")
_ESCAPE = "\x1b"
_ESCAPE_DELAY_S, _ESCAPE_DELAY_REMOTE_S = 0.025, 0.05  # so long it may be the beginning of another key
_IDLE_WAIT_S = 0.1
_READ_BYTES = 4096
_ANSWERS_LIMIT_S = 1.0
_STEP_S = 0.01


class Linked(Protocol):
    """An app that wants to know."""

    link: Link
    picture: Picture
    opening: Opening | None


class LinkedDriver(LinuxDriver):
    """Sends a question behind each larger frame, and keeps its answer from whoever reads the terminal next."""

    def __init__(
        self, app: App[Any], *, debug: bool = False, mouse: bool = True, size: tuple[int, int] | None = None
    ) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        linked = cast("Linked", app)
        self._link, self._picture, self._opening = linked.link, linked.picture, linked.opening
        self._has_screen = False
        if "ESCDELAY" not in os.environ:  # in which a person says it, as in other programs
            delay_s = _ESCAPE_DELAY_REMOTE_S if self._link.is_remote else _ESCAPE_DELAY_S
            constants.ESCAPE_DELAY = delay_s  # type: ignore[misc]  # Textual's own is felt
        self._is_leaving = False
        self._begun = ""  # a frame's beginning, until something is written in it
        self._cursor = ""  # where the last frame left it

    def write(self, data: str) -> None:
        """Write to the terminal; a frame in which nothing is painted isn't written."""
        if data == ENTER_SCREEN and self._has_screen:  # to enter it again would clear it
            return
        if data == FRAME_BEGINS:
            self._begun = data
            return
        if data == self._cursor:  # it is there already
            return
        if data == FRAME_ENDS and self._begun:
            self._begun = ""
            return
        data, self._begun = self._begun + data, ""
        if (found := _AT_THE_END.search(data)) is not None:
            self._cursor = found.group()
        asks = not self._is_leaving and self._link.asks_behind(len(data))
        super().write(data + QUESTION if asks else data)

    def run_input_thread(self) -> None:
        """Read keys until the driver is told to stop.

        Textual's own waits for 0.1 s whatever is set before it lets a lone Escape be one: closing a box felt slow.
        """
        parser = XTermParser(self._debug)
        decode = getincrementaldecoder("utf-8")(errors="replace").decode
        typed = ""
        while not self.exit_event.is_set():
            wait_s = constants.ESCAPE_DELAY if typed.endswith(_ESCAPE) else _IDLE_WAIT_S
            typed = ""
            if select.select([self.fileno], [], [], wait_s)[0]:
                read = os.read(self.fileno, _READ_BYTES)
                if not read:  # the terminal is gone; a signal says so, too
                    self.exit_event.wait(_IDLE_WAIT_S)
                typed = decode(read)
            for message in (*(parser.feed(typed) if typed else ()), *parser.tick()):
                self.process_message(message)

    def process_message(self, message: Message) -> None:
        """Take what the terminal says; runs in the thread that reads it."""
        if isinstance(message, events.CursorPosition):
            self._link.answered()
        else:
            super().process_message(message)

    def start_application_mode(self) -> None:
        """Take the terminal, also after it was somebody else's for a while."""
        self._is_leaving = False
        self._picture.forget()
        self._has_screen = self._opening is not None and self._opening.hand_over()
        super().start_application_mode()  # type: ignore[no-untyped-call]  # Textual has no annotation here
        self._link.ask()  # before anything is painted: what a round trip alone takes
        super().write(QUESTION)

    def stop_application_mode(self) -> None:
        """Give the terminal back, when it has answered all: else the shell would get the rest as if it were typed."""
        self._is_leaving = True
        deadline = time.monotonic() + _ANSWERS_LIMIT_S
        while self._link.is_asked and time.monotonic() < deadline:
            time.sleep(_STEP_S)
        super().stop_application_mode()
