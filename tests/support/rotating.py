"""A rotated log, its rotator as a process that can be killed, and what all its parts add up to."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.programs import flood
from tui.keeper.rotation import LogLimits

LIMIT_BYTES = 1 << 20
NO_END = LogLimits(LIMIT_BYTES, total_bytes=sys.maxsize, age_s=float("inf"))
_PROGRAMS = Path(flood.__file__).parent


def numbered(first: int, last: int) -> bytes:
    """Lines that tell which they are."""
    return flood.lines(first, last)


def segments(directory: Path) -> list[Path]:
    return sorted(directory.glob("server.log.*.gz"))


def everything(directory: Path) -> bytes:
    """The segments as gzip reads them, then the log; where the file system can't collapse, its hole is left out."""
    archived = b"".join(gzip.decompress(path.read_bytes()) for path in segments(directory))
    return archived + (directory / "server.log").read_bytes().lstrip(b"\0")


def start_writer(directory: Path, lines_per_s: int, seconds: float) -> subprocess.Popen[str]:
    words = [sys.executable, str(_PROGRAMS / "flood.py"), str(directory / "server.log"), str(lines_per_s), str(seconds)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True)


@contextmanager
def rotator(
    directory: Path, steps: Path | None = None, total_bytes: int = sys.maxsize
) -> Iterator[subprocess.Popen[bytes]]:
    """One that runs until it is killed, which it is at the end of the block at the latest."""
    environment = {**os.environ, **({"SGLTUI_STEPS": str(steps)} if steps is not None else {})}
    words = [sys.executable, "-m", "tui.keeper.rotation", str(directory), str(LIMIT_BYTES), str(total_bytes)]
    with subprocess.Popen(words, env=environment) as process:
        try:
            yield process
        finally:
            process.kill()


def finished(writer: subprocess.Popen[str]) -> int:
    """Lines that the writer wrote, once it has ended."""
    told, _ = writer.communicate(timeout=120)
    return int(told.split()[0])
