"""A process tree that does all it can to be left behind: `python tree.py PIDS_FILE`.

Parent, a child in its session, a child in a session of its own, and a double-forked daemon with an empty environment
whose output goes elsewhere. All ignore TERM, INT and HUP. The pids are written once all are there.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

# Ignored signals stay ignored through exec.
DAEMON = """
import os, sys, time
os.write(int(sys.argv[1]), b"%d\\n" % os.getpid())
os.close(int(sys.argv[1]))
time.sleep(600)
"""


def ignore_signals() -> None:
    for signum in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(signum, signal.SIG_IGN)


def fork_child(channel: int, *, new_session: bool = False, daemon: bool = False) -> None:
    if os.fork():
        return
    if new_session or daemon:
        os.setsid()
    if daemon:
        if os.fork():
            os._exit(0)
        null = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(null, number)
        os.set_inheritable(channel, True)
        os.execve(sys.executable, [sys.executable, "-c", DAEMON, str(channel)], {})  # noqa: S606 - no shell wanted
    os.write(channel, f"{os.getpid()}\n".encode())
    while True:
        time.sleep(60)


def main() -> None:
    ignore_signals()
    reading, writing = os.pipe()
    fork_child(writing)
    fork_child(writing, new_session=True)
    fork_child(writing, daemon=True)
    with os.fdopen(reading) as lines:
        pids = [os.getpid(), *(int(lines.readline()) for _ in range(3))]
        target = Path(sys.argv[1])
        temporary = target.with_suffix(".part")
        temporary.write_text(" ".join(map(str, pids)))
        temporary.replace(target)
        print("tree is up", flush=True)
        while True:
            time.sleep(60)


main()
