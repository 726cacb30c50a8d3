"""What a worker does to itself late in its start: a title over its command line, and death with its parent.

The title is written as setproctitle 1.3 does on Linux: over the argument vector and, unless `SPT_NOENV` is set, over
the environment block too, whose content is gone then from /proc/PID/environ; the rest is filled up.
"""

from __future__ import annotations

import ctypes
import os
import signal
from pathlib import Path

_PR_SET_PDEATHSIG, _PR_SET_NAME = 1, 15
# Fields of /proc/PID/stat after the command's closing parenthesis (proc(5) numbers them from 3).
_ARG_START, _ARG_END, _ENV_START, _ENV_END = 45, 46, 47, 48


def die_with_parent() -> None:
    """Have the kernel kill this process when its parent ends."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def set_title(title: str) -> None:
    """Overwrite the command line, and the name of the process (which the kernel cuts to 15 bytes)."""
    fields = Path("/proc/self/stat").read_text().rpartition(") ")[2].split()
    start, end = int(fields[_ARG_START]), int(fields[_ARG_END])
    keep_environment = bool(os.environ.get("SPT_NOENV"))
    if not keep_environment and int(fields[_ENV_START]) == end:
        end = int(fields[_ENV_END])
        for name, value in os.environ.items():
            os.putenv(name, value)  # moves it to the heap first, so that getenv(3) still finds it
    size = end - start
    ctypes.memset(start, 0, size)
    ctypes.memmove(start, title.encode()[: size - 1], min(len(title), size - 1))
    ctypes.CDLL(None).prctl(_PR_SET_NAME, title.encode())
