"""A question to another program: no shell, no terminal, limits on time and on what it prints, nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import IO

LIMIT_S = 10.0
_MOST_BYTES = 64 * 1024


class TooMuchError(Exception):
    """It printed more than `most_bytes`."""

    def __init__(self, most_bytes: int) -> None:
        super().__init__(f"more than {most_bytes} bytes")
        self.most_bytes = most_bytes


# What `ask` raises, for `except`.
NO_ANSWER = (OSError, subprocess.TimeoutExpired, subprocess.CalledProcessError, TooMuchError)


def ask(argv: Sequence[str], limit_s: float = LIMIT_S) -> str:
    """What the program prints on stdout; errors are those of `run_apart`."""
    return os.fsdecode(run_apart(argv, limit_s, _MOST_BYTES))


def run_apart(
    argv: Sequence[str],
    limit_s: float,
    most_bytes: int,
    *,
    errors: IO[bytes] | int = subprocess.DEVNULL,
    environment: Mapping[str, str] | None = None,
    folder: str | None = None,
    ends_all: bool = False,
) -> bytes:
    """What a program prints on stdout.

    It gets a session of its own, so that at a limit it is killed together with all it has started.

    Args:
        argv: the program.
        limit_s: seconds in which it has to end.
        most_bytes: that it may print.
        errors: where its stderr goes.
        environment: None: this process's.
        folder: in which it runs; None: this process's.
        ends_all: when it has ended well, too, what it started and left is killed.

    Raises:
        OSError: it can't be started.
        subprocess.TimeoutExpired: it didn't finish within `limit_s` seconds.
        subprocess.CalledProcessError: it failed.
        TooMuchError: it printed more than `most_bytes`.
    """
    late = threading.Event()
    with subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=errors,
        env=environment,
        cwd=folder,
        start_new_session=True,
    ) as process:
        timer = threading.Timer(limit_s, _end, (process, late))
        timer.start()
        is_over = False
        try:
            assert process.stdout is not None  # noqa: S101 - a pipe was asked for
            output: bytes = process.stdout.read(most_bytes + 1)
            if len(output) <= most_bytes:
                os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
                is_over = True
        finally:
            timer.cancel()
            timer.join()
            if ends_all or not is_over:
                _kill(process)
    if late.is_set():
        raise subprocess.TimeoutExpired(argv, limit_s)
    if len(output) > most_bytes:
        raise TooMuchError(most_bytes)
    if process.returncode != 0:
        raise subprocess.CalledProcessError(process.returncode, argv)
    return output


def explain_silence(error: Exception) -> str:
    """Why a program gave no answer, one of `NO_ANSWER`, to follow its name: "ended with status 3"."""
    match error:
        case subprocess.TimeoutExpired():
            return f"gave no answer within {error.timeout:g} s"
        case subprocess.CalledProcessError() if error.returncode < 0:
            return f"was ended by signal {-error.returncode}"
        case subprocess.CalledProcessError():
            return f"ended with status {error.returncode}"
        case TooMuchError():
            return f"printed more than {error.most_bytes // 1024} KiB"
        case OSError():
            return f"can't be started: {error.strerror}"
    raise error


def _end(process: subprocess.Popen[bytes], late: threading.Event) -> None:
    late.set()
    _kill(process)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """With all of its session's; it isn't reaped yet, so the number is still its own. Another user's can't be."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
