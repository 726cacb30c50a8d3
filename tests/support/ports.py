"""Ports that nobody else is given meanwhile: no other test on this machine, and no connection of anybody's.

A server binds its port seconds after it was told which; what is merely free now may be somebody's by then.
"""

from __future__ import annotations

import itertools
import os
import socket

import pytest

# Below those that launches choose by themselves (30000 on) and that the kernel gives to connections (32768 on).
_FIRST, _COUNT = 20000, 10000
_turn = itertools.count(os.getpid() * 64)  # elsewhere for each worker
_held: list[socket.socket] = []


def free_port() -> int:
    """A TCP port on which nobody listens, and which no test is given again while this process lives."""
    for turn in itertools.islice(_turn, _COUNT):
        port = _FIRST + turn % _COUNT
        if _hold(port) and _is_free(port):
            return port
    raise AssertionError("no free port is left for a test")


def _hold(port: int) -> bool:
    """By the name of an abstract socket, which goes with this process."""
    holder = socket.socket(socket.AF_UNIX)
    try:
        holder.bind(f"\0sgltui-tests/port/{port}")
    except OSError:
        holder.close()
        return False
    _held.append(holder)
    return True


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as servers do: closed connections don't count
        try:
            probe.bind(("0.0.0.0", port))
        except OSError:
            return False
    return True


@pytest.fixture
def unused_tcp_port() -> int:
    """In the place of pytest-asyncio's, which any process may be given a moment later."""
    return free_port()
