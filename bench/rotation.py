"""How long a server's write is held up while its log is rotated. Goal: under 100 ms. Nothing may be lost.

    python bench/rotation.py [SECONDS] [FOLDER]

A writer logs 100,000 lines a second into a file whose limit is 256 MiB, once alone and once beside a rotator; its
slowest write of each is compared, then all parts of the log are read and counted. Needs about 1 GiB in FOLDER (the
current one), which decides the file system.
"""

from __future__ import annotations

import gzip
import subprocess
import sys
import tempfile
from pathlib import Path

from tui.keeper.rotation import LogLimits, Rotator

GOAL_MS = 100.0
RATE = 100_000
LIMIT_BYTES = 256 << 20
FLOOD = Path(__file__).parents[1] / "tests" / "programs" / "flood.py"


def main() -> int:
    """Print both; status 1 when the goal is missed or a line is."""
    seconds = float(next(iter(sys.argv[1:2]), 60))
    folder = next(iter(sys.argv[2:3]), ".")
    with tempfile.TemporaryDirectory(dir=folder, prefix="rotation-bench-") as alone:
        _, alone_ms = flood(Path(alone), min(seconds, 20.0))
    with tempfile.TemporaryDirectory(dir=folder, prefix="rotation-bench-") as directory:
        words = [sys.executable, "-m", "tui.keeper.rotation", directory, str(LIMIT_BYTES)]
        with subprocess.Popen(words) as rotator:
            written, rotated_ms = flood(Path(directory), seconds)
            rotator.terminate()
        segments, lines = count(Path(directory))
    print(f"slowest write alone            {alone_ms:7.1f} ms")
    print(f"slowest write beside rotation  {rotated_ms:7.1f} ms, goal under {GOAL_MS:g} ms")
    print(f"lines written {written}, read back {lines}, segments {segments}")
    return 0 if rotated_ms < GOAL_MS and lines == written else 1


def flood(directory: Path, seconds: float) -> tuple[int, float]:
    """Lines written, and the longest write in ms."""
    words = [sys.executable, str(FLOOD), str(directory / "server.log"), str(RATE), str(seconds)]
    lines, slowest = subprocess.run(words, check=True, capture_output=True, text=True).stdout.split()
    return int(lines), float(slowest)


def count(directory: Path) -> tuple[int, int]:
    """Segments, and lines in them and in the log; interrupted work is finished first."""
    Rotator(directory / "server.log", LogLimits(LIMIT_BYTES, sys.maxsize, float("inf"))).rotate()
    paths = sorted(directory.glob("server.log.*.gz"))
    lines = (directory / "server.log").read_bytes().count(b"\n")
    for path in paths:
        with gzip.open(path) as file:
            while block := file.read(1 << 20):
                lines += block.count(b"\n")
    return len(paths), lines


if __name__ == "__main__":
    sys.exit(main())
