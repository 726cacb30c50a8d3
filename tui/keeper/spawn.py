"""Starting the server: its own session, its own new log, default signals, and only when it is on record."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

# Lines reach the log at once; a native crash leaves a stack; setproctitle leaves our mark in the environment.
SERVER_ENVIRONMENT = {"PYTHONUNBUFFERED": "1", "PYTHONFAULTHANDLER": "1", "SPT_NOENV": "1"}
_GO = b"."
_NOT_STARTED = 127  # what shells say


def create_log(path: Path) -> int:
    """A log nobody has ever written to: a new inode, appended to, readable by its owner alone.

    Raises:
        FileExistsError: there is one already; it isn't touched.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.open(path, flags, 0o600)


@dataclass
class Spawned:
    """A child that waits to become the server; it ends by itself if the keeper dies before it says `go`.

    So there is no moment in which a server runs that nobody has written down.
    """

    pid: int
    _gate: int
    _failure: int

    def go(self) -> str | None:
        """Let it become the server; why it couldn't, or None when it has."""
        with contextlib.suppress(BrokenPipeError):  # somebody killed it while it waited
            os.write(self._gate, _GO)
        os.close(self._gate)
        with os.fdopen(self._failure, "rb") as failure:
            return failure.read().decode(errors="replace") or None  # closed by exec, empty then

    def give_up(self) -> None:
        """Let it end."""
        os.close(self._gate)
        os.close(self._failure)


def spawn(argv: Sequence[str], environment: Mapping[str, str], cwd: str, log: int) -> Spawned:
    """Make the child: leader of a new session, stdout and stderr on `log`, stdin closed.

    Raises:
        OSError: no process can be made.
    """
    gate_reading, gate_writing = os.pipe()
    failure_reading, failure_writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(gate_writing)
        _redirect(log)
        _become(argv, {**environment, **SERVER_ENVIRONMENT}, cwd, gate_reading, failure_writing)
    os.close(gate_reading)
    os.close(failure_writing)
    return Spawned(pid, gate_writing, failure_reading)


def _redirect(log: int) -> None:
    for fd, number in ((os.open(os.devnull, os.O_RDONLY), 0), (log, 1), (log, 2)):
        os.dup2(fd, number)


def _become(argv: Sequence[str], environment: Mapping[str, str], cwd: str, gate: int, failure: int) -> None:
    """In the child: never returns."""
    try:
        os.setsid()
        _default_signals()
        if os.read(gate, 1) == _GO:
            os.chdir(cwd)
            os.execve(argv[0], list(argv), dict(environment))  # noqa: S606 - what the user asked for, as words
    except OSError as error:
        os.write(failure, (error.strerror or str(error)).encode())
    except ValueError as error:  # a NUL, or a name with `=`, in what is passed on
        os.write(failure, str(error).encode())
    finally:
        os._exit(_NOT_STARTED)


def _default_signals() -> None:
    # The keeper ignores some signals, and ignored signals are inherited through exec.
    for signum in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGCHLD, signal.SIGPIPE):
        signal.signal(signum, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
