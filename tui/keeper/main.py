"""`python -m tui.keeper attend|adopt DIRECTORY [PROMISE]`: become the keeper of the launch recorded there.

The order comes as JSON on standard input. The caller waits for the first process only; the keeper is its child,
without a terminal and without a parent that anybody could close. PROMISE is the descriptor that holds the port.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from tui.keeper.again import is_unbegun, next_attempt
from tui.keeper.files import LaunchFiles
from tui.keeper.keeper import Keeper
from tui.keeper.order import Order
from tui.keeper.records import LaunchRecords, lock_within
from tui.keeper.run import Target, own_identity
from tui.keeper.states import State

_PR_SET_CHILD_SUBREAPER = 36
_NOT_ATTENDED = 3
_LOCK_LIMIT_S = 2.0


def main(arguments: Sequence[str]) -> int:
    """Detach and attend. The first process ends when the keeper is on record; its status says whether it is.

    Args:
        arguments: `attend` for a launch that nobody has started yet, `adopt` for one whose keeper is dead; the launch's
            directory; the descriptor that holds the promise of its port, if there is one.
    """
    adopts, files = arguments[0] == "adopt", LaunchFiles(Path(arguments[1]).absolute())
    order = Order(**json.load(sys.stdin))
    target = Target.from_record(json.loads(files.launch.read_bytes()))
    told, tell = os.pipe()
    if os.fork():
        os.close(tell)
        # Exits without the interpreter's clean-up, which belongs to the child now.
        os._exit(0 if os.read(told, 1) else _NOT_ATTENDED)
    tell = _detach(files, tell, [int(word) for word in arguments[2:]])
    if lock_within(_LOCK_LIMIT_S, files.lock) is None:
        return _NOT_ATTENDED
    records = LaunchRecords(files)
    if records.state is not State.PENDING and not adopts:  # somebody has called it off
        return _NOT_ATTENDED
    records.note(keeper=own_identity())
    os.write(tell, b".")
    os.close(tell)
    wakeup = _exit_notices()
    keeper = Keeper(records, target, order, wakeup)
    keeper.take_over() if adopts and not is_unbegun(records, order) else keeper.attend()
    _restart(files, order, wakeup)
    return 0


def _restart(files: LaunchFiles, order: Order, wakeup: int) -> None:
    """Go on with the next launch of the same server, as often as its preset allows."""
    while True:
        following = next_attempt(files, order)
        if following is None:
            return
        files, order = following
        _log_to(files.keeper_log)
        records = LaunchRecords(files)
        target = Target.from_record(json.loads(files.launch.read_bytes()))
        Keeper(records, target, order, wakeup).attend()


def _log_to(path: Path) -> None:
    log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
    for number in (1, 2):
        os.dup2(log, number)
    os.close(log)


def _detach(files: LaunchFiles, tell: int, promise: Sequence[int]) -> int:
    """No terminal, no descriptors but `tell` and the promise, deaf to hang-ups; orphans of the server come to us.

    Our own trouble (a traceback) goes to a log beside the server's. The promise of the port is held till the end.

    Returns:
        The new number of `tell`.
    """
    null = os.open(os.devnull, os.O_RDONLY)
    log = os.open(files.keeper_log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
    # Out of the way first: what is moved to a low number must not close one that is still to be moved.
    high = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 100) for fd in (null, log, log, tell, *promise)]
    for number, fd in enumerate(high):
        os.dup2(fd, number, inheritable=number <= 2)  # noqa: PLR2004 - the standard streams
    # What is open, not what could be: where the limit is a thousand million, counting up to it takes minutes.
    os.closerange(len(high), max(int(entry.name) for entry in os.scandir("/proc/self/fd")) + 1)
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
