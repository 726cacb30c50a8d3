"""`python -m tui.keeper DIRECTORY`: become the keeper of the launch recorded there.

The order comes as JSON on standard input. The caller waits for the first process only; the keeper is its child,
without a terminal and without a parent that anybody could close.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from tui.keeper.files import LaunchFiles
from tui.keeper.keeper import Keeper, Order
from tui.keeper.records import LaunchRecords, try_lock
from tui.keeper.run import Target, own_identity

_PR_SET_CHILD_SUBREAPER = 36
_NOT_ATTENDED = 3


def main(arguments: Sequence[str]) -> int:
    """Detach and attend. The first process ends when the keeper is on record; its status says whether it is."""
    files = LaunchFiles(Path(arguments[0]))
    order = Order(**json.load(sys.stdin))
    target = Target.from_record(json.loads(files.launch.read_text()))
    told, tell = os.pipe()
    if os.fork():
        os.close(tell)
        # Exits without the interpreter's clean-up, which belongs to the child now.
        os._exit(0 if os.read(told, 1) else _NOT_ATTENDED)
    tell = _detach(files, tell)
    if try_lock(files.lock) is None:
        return _NOT_ATTENDED
    records = LaunchRecords(files)
    records.note(keeper=own_identity())
    os.write(tell, b".")
    os.close(tell)
    Keeper(records, target, order, _exit_notices()).attend()
    return 0


def _detach(files: LaunchFiles, kept: int) -> int:
    """No terminal, no inherited descriptors but `kept`, deaf to hang-ups; orphans of the server come to us.

    Our own trouble (a traceback) goes to a log beside the server's.

    Returns:
        The new number of `kept`.
    """
    null = os.open(os.devnull, os.O_RDONLY)
    log = os.open(files.keeper_log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
    for number, fd in enumerate((null, log, log, kept)):
        os.dup2(fd, number)
    # What is open, not what could be: where the limit is a thousand million, counting up to it takes minutes.
    os.closerange(4, max(int(entry.name) for entry in os.scandir("/proc/self/fd")) + 1)
    os.set_inheritable(3, False)
    os.chdir("/")
    # SIGQUIT too: an orphaned scheduler sends it to whoever has become its parent.
    for signum in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        signal.signal(signum, signal.SIG_IGN)
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    return 3


def _exit_notices() -> int:
    """A descriptor that becomes readable whenever a child exits."""
    reading, writing = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    return reading
