"""A server that logs as fast as it is told to, and notes how long its slowest write took.

    python flood.py LOG LINES_PER_S SECONDS

Ends after that time, or at TERM. Prints: lines written, the longest write in ms. The log is opened as the keeper opens
it: to append.
"""

from __future__ import annotations

import os
import signal
import sys
import time

LINE = b"[2026-11-29 08:06:39 TP0] Decode batch, #running-req: 31, gen throughput (token/s): 1312.77, line %09d\n"
_TICK_S = 0.005


def lines(first: int, last: int) -> bytes:
    """Lines `first` to `last - 1`."""
    return b"".join([LINE % number for number in range(first, last)])


def main(path: str, rate: float, seconds: float) -> None:
    """Write until the time is over, or nobody needs more."""
    asked: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: asked.append(number))
    log = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    begun, written, slowest = time.monotonic(), 0, 0.0
    while (passed := time.monotonic() - begun) < seconds and not asked:
        due = int(rate * passed) + 1
        data, started = lines(written, due), time.monotonic()
        os.write(log, data)
        slowest = max(slowest, time.monotonic() - started)
        written = due
        time.sleep(max(0.0, _TICK_S - (time.monotonic() - started)))
    print(written, round(slowest * 1000, 1))


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), float(sys.argv[3]))
