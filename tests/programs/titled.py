"""A process that calls itself like one of SGLang's: `python titled.py TITLE`. It orphans itself and waits."""

from __future__ import annotations

import os
import sys
import time

from tui.simulator.title import set_title

if os.fork():
    os._exit(0)
set_title(sys.argv[1])
print(os.getpid(), flush=True)
time.sleep(600)
