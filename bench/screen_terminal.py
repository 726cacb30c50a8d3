"""A terminal for `bench/screen.py`: what a program writes is stamped as it arrives, and shown by an emulator later."""

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
from collections.abc import Callable, Iterator, Mapping, Sequence

import psutil
import pyte

SIZE = (160, 48)
# What programs ask a terminal, and what xterm says.
_ANSWERS = (
    (re.compile(rb"\x1b\[0?c"), b"\x1b[?62;22c"),
    (re.compile(rb"\x1b\[>0?c"), b"\x1b[>41;330;0c"),
    (re.compile(rb"\x1b\[6n"), b"\x1b[1;1R"),
    (re.compile(rb"\x1b\[\?2026\$p"), b"\x1b[?2026;2$y"),
)
# More than pyte knows.
_UNKNOWN = re.compile(rb"\x1b\[[<=>][0-9;:]*[a-zA-Z]|\x1b\[\?\d+\$p|\x1b\[>?[0-9;]*m(?<=>.m)|\x1b[P_^][^\x1b]*\x1b\\")
_UNFINISHED = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*|[P_^\]][^\x07\x1b]*)?\Z")
_STEP_S = 0.002
_READ_BYTES = 1 << 16
_STARTS_WITHIN_S = 5.0
_SLICE_S = 0.01


class Terminal:
    """A program in a pseudo-terminal.

    Args:
        bytes_per_s: how fast the link to the person is; None: no link.
    """

    def __init__(
        self, words: Sequence[str], environment: Mapping[str, str], *, bytes_per_s: float | None = None
    ) -> None:
        columns, lines = SIZE
        self.screen = pyte.Screen(columns, lines)
        self._stream = pyte.ByteStream(self.screen)
        self._chunks: list[tuple[float, bytes]] = []
        self._used: dict[float, float] = {}  # CPU seconds, by when a chunk came
        self._shown = 0  # chunks that the emulator has seen
        self._rest = self._unasked = b""
        self.bytes = 0
        self._bytes_per_s = bytes_per_s
        self.begun = time.monotonic()
        pid, self._fd = pty.fork()
        if pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
            for ours in ("SSH_CONNECTION", "LINES", "COLUMNS", "TMUX", "PYTHONDONTWRITEBYTECODE"):
                os.environ.pop(ours, None)
            os.environ.update(environment, TERM="xterm-256color", COLORTERM="truecolor")
            os.execvp(words[0], list(words))  # noqa: S606 - a program in a terminal is what is measured
        self._process = psutil.Process(pid)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def painted(self, *texts: str, limit_s: float = 30.0) -> float | None:
        """When all of these first stood on the screen, by the monotonic clock; None: never."""
        return self.wait(lambda lines: all(any(text in line for line in lines) for text in texts), limit_s)

    def wait(self, holds: Callable[[Sequence[str]], bool], limit_s: float = 30.0) -> float | None:
        """When the lines of the screen first were so."""
        deadline = time.monotonic() + limit_s
        if holds(self.screen.display):
            return time.monotonic()
        while time.monotonic() < deadline:
            while (at := self._show_next()) is not None:
                if holds(self.screen.display):
                    return at
            time.sleep(_STEP_S)
        return None

    def catch_up(self) -> None:
        """Show all that has arrived."""
        while self._show_next() is not None:
            pass

    def type(self, keys: str) -> float:
        """Press keys; when that was."""
        now = time.monotonic()
        os.write(self._fd, keys.encode())
        return now

    def used_s(self, at: float) -> float:
        """CPU time of the program itself until that moment of its start, when something was painted."""
        return self._used[at]

    def cpu_s(self) -> float:
        """CPU time so far, of the program and those that it started."""
        return sum(sum(one.cpu_times()[:2]) for one in self._all())

    def memory_mib(self) -> float:
        """Resident memory."""
        return sum(one.memory_info().rss for one in self._all()) / 2**20

    def over(self, seconds: float) -> tuple[float, float]:
        """What it takes from now on: percent of a core, and bytes a second to the terminal."""
        cpu, sent, begun = self.cpu_s(), self.bytes, time.monotonic()
        time.sleep(seconds)
        passed = time.monotonic() - begun
        return (self.cpu_s() - cpu) / passed * 100, (self.bytes - sent) / passed

    def close(self) -> None:
        """End it."""
        for one in reversed(self._all()):
            with contextlib.suppress(psutil.Error):
                one.send_signal(signal.SIGKILL)
        os.waitpid(self._process.pid, 0)
        self._reader.join(1)
        os.close(self._fd)

    def _all(self) -> list[psutil.Process]:
        return [self._process, *self._process.children(recursive=True)]

    def _read(self) -> None:
        while True:
            most = _READ_BYTES if self._bytes_per_s is None else max(1, int(self._bytes_per_s * _SLICE_S))
            try:
                data = os.read(self._fd, most)
            except OSError:
                return
            if not data:
                return
            self.bytes += len(data)
            at = time.monotonic()
            self._chunks.append((at, data))
            if at - self.begun < _STARTS_WITHIN_S:
                self._used[at] = sum(self._process.cpu_times()[:2])
            self._answer(data)
            if self._bytes_per_s is not None:
                time.sleep(len(data) / self._bytes_per_s)

    def _answer(self, data: bytes) -> None:
        """Each question once, also one that came in two pieces."""
        unfinished = _UNFINISHED.search(data := self._unasked + data)
        self._unasked = unfinished.group() if unfinished is not None else b""
        for question, answer in _ANSWERS:
            for _ in question.finditer(data):
                os.write(self._fd, answer)

    def _show_next(self) -> float | None:
        if self._shown >= len(self._chunks):
            return None
        at, data = self._chunks[self._shown]
        self._chunks[self._shown] = (at, b"")  # an hour of it would fill the memory
        self._shown += 1
        data = self._rest + data
        unfinished = _UNFINISHED.search(data)
        self._rest = unfinished.group() if unfinished is not None else b""
        self._stream.feed(_UNKNOWN.sub(b"", data[: len(data) - len(self._rest)]))
        return at


@contextlib.contextmanager
def terminal(
    words: Sequence[str], environment: Mapping[str, str], *, bytes_per_s: float | None = None
) -> Iterator[Terminal]:
    """A program that is ended afterwards."""
    one = Terminal(words, environment, bytes_per_s=bytes_per_s)
    try:
        yield one
    finally:
        one.close()
