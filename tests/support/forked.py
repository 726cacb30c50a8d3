"""Commands as processes of their own without an interpreter's start: each is forked from one that has imported all.

A start takes five times as long as most commands. What it has to prove, the tests prove that start a command in the
background, through a shell or in a terminal, and tests/unit/test_imports.py; here a process has arguments,
environment, folder, streams and an exit status of its own, as it would have.
"""

from __future__ import annotations

import functools
import gc
import json
import os
import pkgutil
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import NoReturn

import tui.cli

_REPOSITORY = Path(__file__).parents[2]
_MOST_BYTES = 1 << 17  # of arguments and environment


def run(arguments: Sequence[str], environment: Mapping[str, str], limit_s: int) -> subprocess.CompletedProcess[str]:
    """`sgltui …` in our current folder; its status is -SIGALRM if it takes longer than the limit."""
    channel, _ = _forker()
    order = json.dumps([list(arguments), dict(environment), os.getcwd(), limit_s]).encode()  # noqa: PTH109 as text
    streams = [os.pipe() for _ in ("stdout", "stderr")]
    socket.send_fds(channel, [order], [writing for _, writing in streams])
    for _, writing in streams:
        os.close(writing)
    with ThreadPoolExecutor(len(streams)) as pool:
        stdout, stderr = pool.map(_read, (reading for reading, _ in streams))
    told = channel.recv(100)
    assert told, "the process that forks commands has ended"
    return subprocess.CompletedProcess(list(arguments), os.waitstatus_to_exitcode(int(told)), stdout, stderr)


def _read(stream: int) -> str:
    with open(stream, encoding="utf-8") as file:
        return file.read()


@functools.cache
def _forker() -> tuple[socket.socket, subprocess.Popen[bytes]]:
    """The process that forks, and the way to it; it ends when we do."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        words = [sys.executable, "-m", __name__, str(theirs.fileno())]
        # Its stdout is a pipe, as that of its commands is: Python finds out at its start what it can do with it.
        return ours, subprocess.Popen(words, cwd=_REPOSITORY, pass_fds=[theirs.fileno()], stdout=subprocess.PIPE)


def _serve(channel: socket.socket) -> None:
    for module in pkgutil.iter_modules(tui.cli.__path__):
        import_module(f"tui.cli.{module.name}")
    gc.freeze()
    while True:
        order, streams, _, _ = socket.recv_fds(channel, _MOST_BYTES, 2)
        if not order:
            return
        if os.fork() == 0:
            channel.close()
            _be_command(streams, *json.loads(order))
        for stream in streams:
            os.close(stream)
        _, status = os.wait()
        channel.sendall(str(status).encode())


def _be_command(
    streams: Sequence[int], arguments: Sequence[str], environment: Mapping[str, str], folder: str, limit_s: int
) -> NoReturn:
    for number, stream in enumerate(streams, start=1):
        os.dup2(stream, number)
        os.close(stream)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    signal.alarm(limit_s)
    sys.argv[1:] = arguments
    sys.exit(tui.cli.main())


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))
