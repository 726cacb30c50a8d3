"""A question to another program: no shell, no terminal, limits on time and on what it prints, nothing left behind."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
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
    with subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=errors,
        env=environment,
        cwd=folder,
        start_new_session=True,
    ) as process:
        is_over = False
        try:
            output = _read_until_end(process, limit_s, most_bytes)
            is_over = True
        finally:
            if ends_all or not is_over:
                _kill(process)
    if process.returncode != 0:
        raise subprocess.CalledProcessError(process.returncode, argv)
    return output


def _read_until_end(process: subprocess.Popen[bytes], limit_s: float, most_bytes: int) -> bytes:
    """All that it prints until it has ended; what it leaves behind, an agent in a session of its own, may print on."""
    assert process.stdout is not None  # noqa: S101 - a pipe was asked for
    printed, deadline = process.stdout.fileno(), time.monotonic() + limit_s
    os.set_blocking(printed, False)
    output = b""
    with open(os.pidfd_open(process.pid), "rb", buffering=0) as end:  # noqa: PTH123 - a descriptor, closed with the block
        poll = select.poll()
        poll.register(end, select.POLLIN)
        poll.register(printed, select.POLLIN)
        ready: set[int] = set()
        while end.fileno() not in ready:
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                raise subprocess.TimeoutExpired(process.args, limit_s)
            ready = {number for number, _ in poll.poll(left_s * 1000)}
            piece = _read_all(printed, most_bytes + 1 - len(output))
            if piece is None and printed in ready:  # it has closed it
                poll.unregister(printed)
            output += piece or b""
            if len(output) > most_bytes:
                raise TooMuchError(most_bytes)
    return output


def _read_all(descriptor: int, most_bytes: int) -> bytes | None:
    """What is there to be read now; None where nothing will come any more."""
    pieces = b""
    with suppress(BlockingIOError):
        while len(pieces) < most_bytes:
            piece = os.read(descriptor, most_bytes - len(pieces))
            if not piece:
                return pieces or None
            pieces += piece
    return pieces


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


def _kill(process: subprocess.Popen[bytes]) -> None:
    """With all of its session's; it isn't reaped yet, so the number is still its own. Another user's can't be."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
