"""Starting the server: its own session, its own new log, default signals."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

# Lines reach the log at once; a native crash leaves a stack; setproctitle leaves our mark in the environment.
SERVER_ENVIRONMENT = {"PYTHONUNBUFFERED": "1", "PYTHONFAULTHANDLER": "1", "SPT_NOENV": "1"}


def create_log(path: Path) -> int:
    """A log nobody has ever written to: a new inode, appended to, readable by its owner alone.

    Raises:
        FileExistsError: there is one already; it isn't touched.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.open(path, flags, 0o600)


def spawn(argv: Sequence[str], environment: dict[str, str], cwd: str, log: int) -> subprocess.Popen[bytes]:
    """Start the server as leader of a new session, with stdout and stderr on `log` and stdin closed.

    Raises:
        OSError: the program can't be started.
    """
    return subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        env={**environment, **SERVER_ENVIRONMENT},
        cwd=cwd,
        start_new_session=True,
        preexec_fn=_default_signals,  # noqa: PLW1509 - the keeper has one thread
    )


def _default_signals() -> None:
    # The keeper ignores some signals, and ignored signals are inherited through exec.
    for signum in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGCHLD):
        signal.signal(signum, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
