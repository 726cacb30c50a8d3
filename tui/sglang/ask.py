"""A short question to another program: no shell, no terminal, a time limit, nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Sequence

LIMIT_S = 10.0

# What `ask` raises, for `except`.
NO_ANSWER = (OSError, subprocess.TimeoutExpired, subprocess.CalledProcessError)


def ask(argv: Sequence[str], limit_s: float = LIMIT_S) -> str:
    """What the program prints on stdout.

    It gets a session of its own, so that at the limit it is killed together with all it has started.

    Raises:
        OSError: it can't be started.
        subprocess.TimeoutExpired: it didn't finish within `limit_s` seconds.
        subprocess.CalledProcessError: it failed.
    """
    with subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        try:
            output, _ = process.communicate(timeout=limit_s)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)  # not reaped yet, so the number is still its own
            raise
    if process.returncode != 0:
        raise subprocess.CalledProcessError(process.returncode, argv)
    return os.fsdecode(output)


def explain_silence(error: OSError | subprocess.TimeoutExpired | subprocess.CalledProcessError) -> str:
    """Why `ask` got no answer, to follow the program's name: "ended with status 3"."""
    match error:
        case subprocess.TimeoutExpired():
            return f"gave no answer within {error.timeout:g} s"
        case subprocess.CalledProcessError() if error.returncode < 0:
            return f"was ended by signal {-error.returncode}"
        case subprocess.CalledProcessError():
            return f"ended with status {error.returncode}"
        case OSError():
            return f"can't be started: {error.strerror}"
