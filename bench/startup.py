"""How long `sgltui ps --json` takes beside the smallest Python that could do it. Goal: under 3 times as long.

    python bench/startup.py [RUNS]

Both are run in turn, so that other work on the machine weighs on both; the medians are compared.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

GOAL = 3.0
FLOOR = [sys.executable, "-c", "import argparse, psutil"]
OURS = [str(Path(sys.executable).parent / "sgltui"), "ps", "--json"]


def main() -> int:
    """Print both medians and their ratio; status 1 when the goal is missed."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    times_s: dict[str, list[float]] = {"floor": [], "ours": []}
    with tempfile.TemporaryDirectory() as state:
        environment = {**os.environ, "SGLTUI_STATE_DIR": state, "SGLTUI_CONFIG_DIR": state}
        for _ in range(runs + 1):
            for name, words in (("floor", FLOOR), ("ours", OURS)):
                times_s[name].append(run(words, environment))
    floor_ms, ours_ms = (statistics.median(values[1:]) * 1000 for values in times_s.values())  # the first warms up
    ratio = ours_ms / floor_ms
    print(f"python + argparse + psutil  {floor_ms:6.0f} ms")
    print(f"sgltui ps --json            {ours_ms:6.0f} ms   {ratio:.2f} times as long, goal under {GOAL:g}")
    return 0 if ratio < GOAL else 1


def run(words: list[str], environment: dict[str, str]) -> float:
    """Seconds of one whole process."""
    started = time.perf_counter()
    subprocess.run(words, env=environment, check=True, capture_output=True)
    return time.perf_counter() - started


if __name__ == "__main__":
    sys.exit(main())
