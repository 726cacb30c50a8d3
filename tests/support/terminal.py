"""The command line in a terminal, as a person has it before them, behind a link that may be slow.

The terminal is an emulator's, since what a program sends says little: it is what isn't on the screen yet.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import signal
import struct
import termios
import threading
import time
from collections.abc import Iterator, Mapping, Sequence

import pyte

from tests.support.waiting import wait_until

# What the emulator doesn't know, and what may come in two pieces.
_UNKNOWN = re.compile(rb"\x1b\[[<=>][0-9;:]*[a-zA-Z]|\x1b\[\?\d+\$p|\x1b[P_^][^\x1b]*\x1b\\")
_UNFINISHED = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*|[P_^\]][^\x07\x1b]*)?\Z")
_WHERE_IS_THE_CURSOR = b"\x1b[6n"
_SLICE_S = 0.01


class PtyTerminal:
    """A program in a terminal.

    Args:
        bytes_per_s: of the link to the person; None: as fast as it can be read.

    Attributes:
        received: bytes so far.
    """

    def __init__(
        self,
        words: Sequence[str],
        environment: Mapping[str, str],
        *,
        size: tuple[int, int],
        bytes_per_s: float | None = None,
        answers: bool = True,
    ) -> None:
        columns, lines = size
        self.received = 0
        self.pid, self._fd = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
            os.execvpe(words[0], list(words), {**environment, "TERM": "xterm-256color"})  # noqa: S606 - no shell wanted
        self._answers = answers
        self._bytes_per_s = bytes_per_s
        self._data = bytearray()
        self._screen = pyte.Screen(columns, lines)
        self._stream = pyte.ByteStream(self._screen)
        self._rest = b""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def type(self, keys: str) -> int:
        """Press keys; how many bytes had been received before."""
        before = self.received
        os.write(self._fd, keys.encode())
        return before

    def text(self) -> str:
        """What it shows."""
        return "\n".join(self._screen.display)

    def raw(self) -> bytes:
        """What was written."""
        return bytes(self._data)

    def until(self, words: str) -> int:
        """Wait until this is shown; how many bytes had been received by then."""
        wait_until(lambda: words in self.text(), 60, f"{words!r} in the terminal")
        return self.received

    def until_without(self, words: str) -> None:
        """Wait until this isn't shown any more."""
        wait_until(lambda: words not in self.text(), 60, f"{words!r} gone from the terminal")

    def until_received(self, count: int) -> None:
        """Wait until so many bytes have been received."""
        wait_until(lambda: self.received >= count, 60, f"{count} bytes in the terminal")

    def ended(self) -> int:
        """Wait until the program has ended; its exit status."""
        _, status = os.waitpid(self.pid, 0)
        self.pid = 0
        return os.waitstatus_to_exitcode(status)

    def close(self) -> None:
        """End it."""
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            self.ended()
        self._reader.join(5)
        os.close(self._fd)

    def _draw(self, data: bytes) -> None:
        data = self._rest + data
        unfinished = _UNFINISHED.search(data)
        self._rest = unfinished.group() if unfinished is not None else b""
        self._stream.feed(_UNKNOWN.sub(b"", data[: len(data) - len(self._rest)]))

    def _read(self) -> None:
        most = 1 << 16 if self._bytes_per_s is None else int(self._bytes_per_s * _SLICE_S)
        answered = 0
        with contextlib.suppress(OSError):  # how a pseudo-terminal says that nobody has it any more
            while data := os.read(self._fd, most):
                self._data += data
                self._draw(data)
                self.received += len(data)
                asked = self._data.count(_WHERE_IS_THE_CURSOR)  # of all: a question may come in two pieces
                for _ in range(asked - answered if self._answers else 0):
                    os.write(self._fd, b"\x1b[1;1R")
                answered = asked
                if self._bytes_per_s is not None:
                    time.sleep(len(data) / self._bytes_per_s)


@contextlib.contextmanager
def in_terminal(
    words: Sequence[str],
    environment: Mapping[str, str],
    *,
    size: tuple[int, int] = (120, 34),
    bytes_per_s: float | None = None,
    answers: bool = True,
) -> Iterator[PtyTerminal]:
    """A program that is ended afterwards."""
    terminal = PtyTerminal(words, environment, size=size, bytes_per_s=bytes_per_s, answers=answers)
    try:
        yield terminal
    finally:
        terminal.close()
