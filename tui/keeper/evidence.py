"""What the log says about the end: the few lines that tell an error from an end that somebody wanted.

As SGLang 0.5.6.post2 to 0.5.23 print them. Why there was an error is for the diagnosis to say, which reads the whole.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from tui.keeper.tail import read_tail

_TAIL_BYTES = 4 << 20
# Each closed by the bracket of SGLang's time stamp, so that an echo of these words isn't taken for them.
_DRAINING = re.compile(rb"\] (?:SIGTERM received\.|Gracefully exiting\.\.\. Remaining number of requests )")
_CRASHED = re.compile(rb"\] Subprocess (\w{1,64}) \(pid=(\d{1,9})\) crashed with exit code (-?\d{1,4})\.")
_QUIT = re.compile(rb"\] (?:Received sigquit from a child process|SIGQUIT received)")
_EXCEPTION = re.compile(rb"\] (?:\w{1,64} hit an exception: Traceback|Initialization failed\. warmup error)")
_MEMORY = re.compile(rb"torch\.(?:cuda\.)?OutOfMemoryError|CUDA out of memory|can't allocate memory")
_ERRORS = (_EXCEPTION, _MEMORY, _CRASHED, _QUIT)
_REMAINING = re.compile(rb"\] Gracefully exiting\.\.\. Remaining number of requests (\d{1,9})")


@dataclass(frozen=True)
class CrashedChild:
    """A process of the server that its main process found dead, and what it died of, as Python's returncode."""

    name: str
    pid: int
    returncode: int


@dataclass(frozen=True)
class Evidence:
    """What is said in a log.

    Attributes:
        drained: somebody asked SGLang to end before anything went wrong.
        failed: something went wrong before anybody asked it to end.
        quit: a child's death made the main process kill the whole tree, itself included.
    """

    drained: bool = False
    failed: bool = False
    quit: bool = False
    crashed: CrashedChild | None = None


def read_evidence(log: Path) -> Evidence:
    """The evidence in the last MiBs of a log; none where there is no log, or it can't be read."""
    text = read_tail(log, _TAIL_BYTES)
    crashed = _CRASHED.search(text)
    error = min((match.start() for match in (p.search(text) for p in _ERRORS) if match), default=None)
    asked = _DRAINING.search(text)
    failed = error is not None and (asked is None or error < asked.start())
    return Evidence(
        drained=asked is not None and not failed,
        failed=failed,
        quit=failed and _QUIT.search(text) is not None,
        crashed=_read_crash(crashed) if crashed is not None and failed else None,
    )


class DrainWatch:
    """Follows a log to tell how many requests a drain still waits for."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._offset = _size(log)
        self._remaining: int | None = None

    def remaining(self) -> int | None:
        """The newest number that was logged since the drain began; None before there is one."""
        try:
            with self._log.open("rb") as file:
                size = file.seek(0, os.SEEK_END)
                if size < self._offset:  # its older lines were archived meanwhile
                    self._offset = max(0, size - _TAIL_BYTES)
                file.seek(self._offset)
                lines, _, _ = file.read(_TAIL_BYTES).rpartition(b"\n")
        except OSError:  # there is none, or its disk is away
            return self._remaining
        self._offset += len(lines)
        found = _REMAINING.findall(lines)
        if found:
            self._remaining = int(found[-1])
        return self._remaining


def _size(log: Path) -> int:
    try:
        return log.stat().st_size
    except OSError:
        return 0


def _read_crash(match: re.Match[bytes]) -> CrashedChild:
    return CrashedChild(match[1].decode(), int(match[2]), int(match[3]))
