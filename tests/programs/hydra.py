"""A tree that grows when it is asked to end: `python hydra.py`.

It ignores TERM but for this: every few milliseconds it then makes a daemon (double-forked, in a session of its own,
with a title of SGLang's and nothing of ours on stdout and stderr), and each of those makes another one. Only KILL ends
them.
"""

from __future__ import annotations

import os
import signal
import time

from tui.simulator.title import set_title

HEADS = 150


def grow(further: int) -> None:
    """A daemon that makes another one before it goes to sleep."""
    if os.fork():
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    null = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(null, number)
    set_title("sglang::scheduler")
    if further:
        time.sleep(0.002)
        grow(further - 1)
    while True:
        time.sleep(60)


def main() -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    asked = []
    signal.signal(signal.SIGTERM, lambda *_: asked.append(True))
    print("up", flush=True)
    while not asked:
        time.sleep(0.005)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for _ in range(HEADS):
        grow(1)
        time.sleep(0.004)
    while True:
        time.sleep(60)


main()
