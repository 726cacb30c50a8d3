"""How fast a log is read for its diagnosis, and that healthy lines alarm nobody. Goals are those of the README.

python bench/explain.py [--lines 1000000]

Speeds of one core in MB (10**6 bytes) a second, and beside `grep -c` over the same file, which does hardly anything.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.support.normal_log import serving_lines, start_lines
from tui.diagnosis.conclude import conclude
from tui.diagnosis.detective import Detective
from tui.diagnosis.diagnosis import Ending

BLOCK = 1 << 20
HEALTHY_GOAL, ABNORMAL_GOAL = 50.0, 3.0
ABNORMAL = (
    b"[2026-06-01 10:00:00] ValueError: request %d failed: something is not as it should be\n",
    b"/pytorch/aten/Kernel.cu:163: operator(): block: [%d,0,0], thread: [1,0,0] Assertion `idx < size` failed.\n",
    b"Traceback (most recent call last):\n",
    b'  File "/opt/sglang/srt/managers/scheduler.py", line %d, in run_batch\n',
    b"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate %d.00 MiB\n",
    b"RuntimeError: the flux capacitor number %d is misaligned\n",
)


def main() -> int:
    """Print the figures; status 1 where a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=1_000_000, help="healthy lines to generate")
    count = parser.parse_args().lines
    alarms, healthy = 0, []
    for which in range(3):
        lines = [*start_lines(which), *islice(serving_lines(which), count // 3)]
        healthy.append(b"\n".join(lines) + b"\n")
        alarms += count_alarms(healthy[-1])
    print(f"false alarms in {count:,} healthy lines: {alarms}")
    fast = report("healthy log", b"".join(healthy)[: 256 * BLOCK], HEALTHY_GOAL)
    abnormal = b"".join(line % number if b"%d" in line else line for number in range(40_000) for line in ABNORMAL)
    slow = report("every line abnormal", abnormal, ABNORMAL_GOAL)
    report("one line of 10 MB", b"[2026-06-01 10:00:00] " + b"CUDA out of memory " * 550_000 + b"\n", ABNORMAL_GOAL)
    return 0 if fast and slow and not alarms else 1


def count_alarms(log: bytes) -> int:
    """1 where something is said to be wrong with a healthy log."""
    detective = feed(log)
    strong, weak, _ = detective.evidence()
    return int(bool(strong or weak) or conclude(detective, Ending()).failure != "none")


def feed(log: bytes) -> Detective:
    """A detective that has read it."""
    detective = Detective()
    for at in range(0, len(log), BLOCK):
        detective.feed(log[at : at + BLOCK])
    detective.close()
    return detective


def report(what: str, log: bytes, goal: float) -> bool:
    """Print a speed beside grep's."""
    seconds = best(lambda: feed(log), time.process_time)
    grep_seconds = grep(log)
    speed, ratio = len(log) / 1e6 / seconds, seconds / grep_seconds
    print(f"{what:22} {len(log) / 1e6:7.1f} MB  {speed:8.1f} MB/s, goal {goal:g}  {ratio:7.1f} x grep -c")
    return speed >= goal


def grep(log: bytes) -> float:
    """Seconds of `grep -c` over the same bytes in a file, the page cache warm."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(log)
        file.flush()
        # Into a pipe: into /dev/null grep ends at the first match.
        command = ["grep", "-c", "out of memory", file.name]
        return best(lambda: subprocess.run(command, stdout=subprocess.PIPE, check=False), time.perf_counter)


def best(work: Callable[[], object], clock: Callable[[], float], times: int = 3) -> float:
    """Seconds of the fastest of some runs."""
    return min(timed(work, clock) for _ in range(times))


def timed(work: Callable[[], object], clock: Callable[[], float]) -> float:
    """Seconds of one run."""
    started = clock()
    work()
    return max(clock() - started, 1e-9)


if __name__ == "__main__":
    sys.exit(main())
