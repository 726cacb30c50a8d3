"""Who listens on a port: socket diagnostics and the tables in /proc are two witnesses that have to agree."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterator

import pytest

from tui.keeper.listeners import Listener, listeners

PLACES = [
    (socket.AF_INET, "127.0.0.1"),
    (socket.AF_INET, "127.0.0.77"),
    (socket.AF_INET, ""),
    (socket.AF_INET6, "::1"),
    (socket.AF_INET6, ""),
]


@pytest.fixture(params=PLACES, ids=lambda place: f"{place[0].name}-{place[1]}")
def server(request: pytest.FixtureRequest) -> Iterator[socket.socket]:
    family, host = request.param
    try:
        opened = socket.create_server((host, 0), family=family)
    except OSError as error:
        pytest.skip(f"no {family.name} here: {error}")
    with opened:
        yield opened


def expected(server: socket.socket) -> Listener:
    host: str = server.getsockname()[0]
    return socket.inet_pton(server.family, host), os.fstat(server.fileno()).st_ino


@pytest.fixture
def tables_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel or a container without socket diagnostics."""

    class Refused(socket.socket):
        def __init__(self, family: int = -1, *others: int) -> None:
            if family == socket.AF_NETLINK:
                raise PermissionError("not in this container")
            super().__init__(family, *others)

    monkeypatch.setattr("tui.keeper.listeners.socket.socket", Refused)


def test_a_listener_is_found_with_its_address_and_inode(server: socket.socket) -> None:
    assert listeners(server.getsockname()[1]) == [expected(server)]


@pytest.mark.usefixtures("tables_alone")
def test_the_tables_say_the_same(server: socket.socket) -> None:
    assert listeners(server.getsockname()[1]) == [expected(server)]


def test_a_connection_on_the_port_isnt_a_listener() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)), server.accept()[0]:
            assert listeners(port) == [expected(server)]
            server.close()
            assert listeners(port) == []


def test_two_of_one_port() -> None:
    with socket.socket() as first, socket.socket() as second:
        first.bind(("127.0.0.2", 0))
        second.bind(("127.0.0.3", first.getsockname()[1]))
        first.listen()
        second.listen()
        assert sorted(listeners(first.getsockname()[1])) == sorted(map(expected, (first, second)))


@pytest.mark.parametrize(
    "answer",
    [
        struct.pack("=IHHIIi", 20, 2, 0, 0, 0, -2),  # ENOENT: no diagnostics of TCP
        struct.pack("=IHHII", 0, 20, 0, 0, 0),
        b"",
    ],
    ids=["refused", "no length", "nothing"],
)
def test_an_answer_that_says_nothing_is_looked_for_in_the_tables(
    answer: bytes, server: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Odd(socket.socket):
        def recv(self, *_: int) -> bytes:
            return answer

    monkeypatch.setattr("tui.keeper.listeners.socket.socket", Odd)
    assert listeners(server.getsockname()[1]) == [expected(server)]


def message(kind: int, state: int, port: int, inode: int) -> bytes:
    """An `inet_diag_msg` behind its `nlmsghdr`, as linux/inet_diag.h lays them out."""
    ports = struct.pack(">HH", port, 0)
    addresses = socket.inet_aton("127.0.0.1") + bytes(12) + bytes(16)
    body = struct.pack("=BBBB", socket.AF_INET, state, 0, 0) + ports + addresses + bytes(12)
    body += struct.pack("=IIIII", 0, 0, 0, 0, inode)
    return struct.pack("=IHHII", 16 + len(body), kind, 0, 0, 0) + body


def test_of_a_kernel_that_tells_more_than_it_was_asked_for_the_rest_is_passed_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    listen, established, done = 10, 1, struct.pack("=IHHIIi", 20, 3, 0, 0, 0, 0)
    told = [message(20, listen, 4000, 1), message(20, listen, 4001, 2), message(20, established, 4000, 3)]
    replies = iter([b"".join(told) + done, done])

    class Talkative(socket.socket):
        def recv(self, *_: int) -> bytes:
            return next(replies)

    monkeypatch.setattr("tui.keeper.listeners.socket.socket", Talkative)
    assert listeners(4000) == [(socket.inet_aton("127.0.0.1"), 1)]
