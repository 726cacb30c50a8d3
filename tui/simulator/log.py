"""Writes log lines as SGLang does: `[2026-11-29 16:49:08 TP0] message`, each line by one write to fd 2."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

_STDOUT, _STDERR = 1, 2
_BAR_WIDTH = 10
_EIGHTHS = " ▏▎▍▌▋▊▉"


@dataclass(frozen=True, slots=True)
class Log:
    """The log of one process.

    Attributes:
        tag: ` TP0` for a rank among several, else empty.
    """

    tag: str = ""

    def line(self, message: str) -> None:
        """A stamped line; `message` may hold further lines, which carry no stamp."""
        self.raw(f"[{self._stamp()}{self.tag}] {message}\n")

    def uvicorn(self, message: str, level: str = "INFO") -> None:
        """A line of the web server itself."""
        self.raw(f"[{self._stamp()}] {level + ':':<9} {message}\n")

    def access(self, message: str) -> None:
        """A line for an answered request; the web server writes these to stdout."""
        os.write(_STDOUT, f"[{self._stamp()}] INFO:     {message}\n".encode())

    def raw(self, text: str) -> None:
        """Unstamped bytes: warnings, tracebacks, progress bars."""
        os.write(_STDERR, text.encode())

    @staticmethod
    def _stamp() -> str:
        return time.strftime("%Y-%m-%d %H:%M:%S")


@contextmanager
def progress(log: Log, total: int, template: str) -> Iterator[Bar]:
    """A bar that redraws its line with carriage returns, as tqdm does; the line ends when it is done."""
    bar = Bar(log, total, template)
    bar.draw(0)
    yield bar
    log.raw("\n")


class Bar:
    """A progress bar. `template` may use `percent`, `done`, `total`, `bar` and `timing`."""

    def __init__(self, log: Log, total: int, template: str) -> None:
        self._log = log
        self._total = total
        self._template = template
        self._started = time.monotonic()

    def draw(self, done: int, template: str = "") -> None:
        """Redraw at `done` of the total, in another wording if one is given."""
        text = (template or self._template).format(
            percent=round(100 * done / self._total),
            done=done,
            total=self._total,
            bar=_draw_blocks(done / self._total),
            timing=self._timing(done),
        )
        self._log.raw(f"\r{text}")

    def _timing(self, done: int) -> str:
        if not done:
            return "00:00<?, ?it/s"
        elapsed_s = max(time.monotonic() - self._started, 1e-3)
        left_s = elapsed_s / done * (self._total - done)
        rate = done / elapsed_s
        speed = f"{rate:5.2f}it/s" if rate >= 1 else f"{1 / rate:5.2f}s/it"
        return f"{_clock(elapsed_s)}<{_clock(left_s)}, {speed}"


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 60:02d}:{int(seconds) % 60:02d}"


def _draw_blocks(share: float) -> str:
    full, eighths = divmod(int(share * _BAR_WIDTH * 8), 8)
    return ("█" * full + _EIGHTHS[eighths] if full < _BAR_WIDTH else "█" * full).ljust(_BAR_WIDTH)
