"""A process that a server leaves behind: in a session of its own, with the log open, and with memory of a GPU."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from tui.machine_file import read_machine_file
from tui.simulator.memory import GIB, Device

_LIFE_S = 600  # nobody has to know of it to get rid of it
_HELD_BYTES = GIB


def leave_orphan(device: Device) -> None:
    """Start one that isn't below this process; returns when it holds its memory."""
    words = [sys.executable, "-m", "tui.simulator.orphan", str(device.directory), device.gpu.uuid]
    # Nothing of the launch is in its environment, as setproctitle wipes it too.
    subprocess.run(words, env={"PYTHONPATH": os.environ["PYTHONPATH"]}, stdin=subprocess.DEVNULL, check=True)


def _main(directory: Path, uuid: str) -> None:
    gpu = next(gpu for gpu in read_machine_file(directory).gpus if gpu.uuid == uuid)
    holds, told = os.pipe()
    if os.fork():
        os.close(told)
        os.read(holds, 1)
        return
    os.setsid()
    Device(directory, 0, gpu).allocate(_HELD_BYTES)
    os.close(told)
    time.sleep(_LIFE_S)


if __name__ == "__main__":
    _main(Path(sys.argv[1]), sys.argv[2])
