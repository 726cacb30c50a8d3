"""A process whose first thread ends while another works on; /proc calls it a zombie then, and it is none."""

from __future__ import annotations

import ctypes
import os
import platform
import threading
import time
from pathlib import Path

EXIT_THIS_THREAD = {"x86_64": 60, "aarch64": 93}[platform.machine()]


def work() -> None:
    while b") Z " not in Path(f"/proc/{os.getpid()}/stat").read_bytes():
        time.sleep(0.01)
    print("leaderless", flush=True)
    while True:
        time.sleep(60)


threading.Thread(target=work).start()
ctypes.CDLL(None).syscall(EXIT_THIS_THREAD, 0)
