"""How long it takes until a tree that hides is gone, beside the kernel's `cgroup.kill`. Goal: under 10 times as long.

    python bench/stop.py [RUNS]

The tree: a main process and 50 daemons of it, double-forked, each in a session of its own, deaf to TERM. Both ways are
taken in turn on trees of their own; the kernel tells when nobody is left.
"""

from __future__ import annotations

import ctypes
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from tui.keeper.files import LaunchFiles
from tui.keeper.identity import identify
from tui.keeper.members import MARK_VARIABLE
from tui.keeper.records import LaunchRecords
from tui.keeper.run import Run, Target
from tui.keeper.stop import Stopper, StopRequest

GOAL = 10.0
DAEMONS = 50
TREE = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for _ in range(int(sys.argv[1])):
    if os.fork() == 0:
        os.setsid()
        if os.fork(): os._exit(0)
        time.sleep(600)
print("up", flush=True)
time.sleep(600)
"""
_PR_SET_CHILD_SUBREAPER = 36


def main() -> int:
    """Print both medians and their ratio; status 1 when the goal is missed."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    cgroup = make_cgroup()
    if cgroup is None:
        print("no cgroup 2 can be made here: nothing to compare with")
        return 0
    try:
        times_s = [
            (time_until_gone(cgroup, kill_by_members), time_until_gone(cgroup, kill_by_kernel)) for _ in range(runs)
        ]
    finally:
        cgroup.rmdir()
    ours, kernels = (statistics.median(times) for times in zip(*times_s, strict=True))
    print(f"sgltui       {ours * 1000:7.1f} ms\ncgroup.kill  {kernels * 1000:7.1f} ms")
    print(f"ratio        {ours / kernels:7.1f}   (goal: under {GOAL:g})")
    return 0 if ours / kernels < GOAL else 1


def make_cgroup() -> Path | None:
    """A cgroup 2 of our own, or None."""
    for top in (Path("/sys/fs/cgroup/unified"), Path("/sys/fs/cgroup")):
        folder = top / f"sgltui-bench-{os.getpid()}"
        try:
            folder.mkdir()
        except OSError:
            continue
        if (folder / "cgroup.kill").exists():
            return folder
        folder.rmdir()
    return None


def time_until_gone(cgroup: Path, kill: Callable[[Path, int], None]) -> float:
    """Seconds from the beginning of the kill until the kernel finds nobody of the tree left."""
    process = start(cgroup)
    gone: list[float] = []

    def watch() -> None:
        while "populated 1" in (cgroup / "cgroup.events").read_text():
            time.sleep(0.001)
        gone.append(time.perf_counter())

    watcher = threading.Thread(target=watch)
    started = time.perf_counter()
    watcher.start()
    kill(cgroup, process.pid)
    watcher.join()
    process.returncode = -signal.SIGKILL  # reaped below, or by the kill
    with suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)
    return gone[0] - started


def start(cgroup: Path) -> subprocess.Popen[bytes]:
    """A tree that is up, in the cgroup."""
    enter = ["sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"', str(cgroup)]
    process = subprocess.Popen(
        [*enter, sys.executable, "-c", TREE, str(DAEMONS)],
        stdout=subprocess.PIPE,
        start_new_session=True,
        env={**os.environ, MARK_VARIABLE: "bench"},
    )
    assert process.stdout is not None
    process.stdout.readline()
    return process


def kill_by_members(cgroup: Path, pid: int) -> None:
    """As a stop does, without knowing of the cgroup."""
    del cgroup
    with tempfile.TemporaryDirectory() as folder:
        target = Target("bench", "127.0.0.1", 1, [], None)
        run = Run(LaunchRecords(LaunchFiles(Path(folder))), target, identify(pid), is_parent=True)
        report = Stopper(run, StopRequest(release_wait_s=0, kill=True)).stop()
    assert len(report["killed"]) == 1 + DAEMONS, report
    assert report["survivors"] == [], report


def kill_by_kernel(cgroup: Path, pid: int) -> None:
    """In one step, for all that are in the cgroup."""
    del pid
    (cgroup / "cgroup.kill").write_text("1")


if __name__ == "__main__":
    sys.exit(main())
