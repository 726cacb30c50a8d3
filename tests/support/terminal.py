"""The command line in a pseudo-terminal, as a person has it before them, behind a link that may be slow."""

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

from tests.support.waiting import wait_until

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[PX^_][^\x1b]*\x1b\\|[ -/]*[0-~])")
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
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def type(self, keys: str) -> int:
        """Press keys; how many bytes had been received before."""
        before = self.received
        os.write(self._fd, keys.encode())
        return before

    def text(self, start: int = 0) -> str:
        """What was written from a byte on, without escape sequences."""
        return _ESCAPES.sub("", bytes(self._data[start:]).decode(errors="replace"))

    def raw(self) -> bytes:
        """What was written."""
        return bytes(self._data)

    def until(self, words: str, start: int = 0) -> int:
        """Wait until this was written after byte `start`; how many bytes had been received by then."""
        wait_until(lambda: words in self.text(start), 60, f"{words!r} in the terminal")
        return self.received

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

    def _read(self) -> None:
        most = 1 << 16 if self._bytes_per_s is None else int(self._bytes_per_s * _SLICE_S)
        answered = 0
        with contextlib.suppress(OSError):  # how a pseudo-terminal says that nobody has it any more
            while data := os.read(self._fd, most):
                self._data += data
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
