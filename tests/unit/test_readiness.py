"""Ready is proved: by whose socket is reached, and by an endpoint that costs the server nothing."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import pytest

from tests.support.rude import read_head
from tui.keeper.identity import ProcessIdentity, identify
from tui.keeper.readiness import Probe, owns_port
from tui.launch.keeping import make_order
from tui.launch.records import LaunchRecord, Machine

LISTEN = (
    "import socket, sys; s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1); "
    "s.bind((sys.argv[1], int(sys.argv[2]))); s.listen(); print('on', flush=True); sys.stdin.read()"
)


@contextmanager
def listening(host: str, port: int) -> Iterator[ProcessIdentity]:
    """Another process that listens there."""
    words = [sys.executable, "-c", LISTEN, host, str(port)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"on\n"
        identity = identify(process.pid)
        assert identity is not None
        yield identity
        process.kill()


@pytest.fixture
def port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        number: int = probe.getsockname()[1]
        return number


@pytest.fixture
def me() -> ProcessIdentity:
    identity = identify(os.getpid())
    assert identity is not None
    return identity


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0", "localhost"])
def test_our_own_socket_is_ours(host: str, port: int, me: ProcessIdentity) -> None:
    assert not owns_port([me], port, host)
    with socket.create_server(("127.0.0.1" if host == "localhost" else host, port)):
        assert owns_port([me], port, host)
        assert owns_port([me], port)


def test_a_stranger_on_the_loopback_address_takes_the_clients_of_who_listens_everywhere(
    port: int, me: ProcessIdentity
) -> None:
    with socket.socket() as everywhere:
        everywhere.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        everywhere.bind(("0.0.0.0", port))
        with listening("127.0.0.1", port) as stranger:
            everywhere.listen()
            assert owns_port([me], port)  # somewhere on that port it does listen
            assert not owns_port([me], port, "0.0.0.0")
            assert owns_port([stranger], port, "127.0.0.1")
            assert owns_port([me, stranger], port, "0.0.0.0")


def test_a_stranger_on_another_address_is_nobodys_business(port: int, me: ProcessIdentity) -> None:
    with listening("127.0.0.2", port), socket.create_server(("127.0.0.1", port)):
        assert owns_port([me], port, "127.0.0.1")


class Recorder:
    """Answers by path, in this process; remembers what it was asked."""

    def __init__(self, statuses: dict[str, int]) -> None:
        self.statuses = statuses
        self.asked: list[str] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            connection, _ = self._listener.accept()
            with connection:
                path = read_head(connection).split()[1].decode()
                self.asked.append(path)
                connection.sendall(f"HTTP/1.1 {self.statuses.get(path, 404)} X\r\n\r\n".encode())


def test_a_release_without_ready_is_asked_for_its_model(me: ProcessIdentity) -> None:
    server = Recorder({"/model_info": 200})
    assert Probe("127.0.0.1", server.port, None).is_ready([me])
    assert server.asked == ["/ready", "/model_info"]
    assert Probe("127.0.0.1", server.port, None, has_ready=False).is_ready([me])
    assert server.asked[2:] == ["/model_info"]


def test_ready_has_the_last_word_and_is_asked_once_a_second(me: ProcessIdentity) -> None:
    server = Recorder({"/ready": 503, "/model_info": 200})
    probe = Probe("127.0.0.1", server.port, None)
    assert not any(probe.is_ready([me]) for _ in range(50))
    assert server.asked == ["/ready"]


def test_a_sign_that_it_is_ready_is_followed_at_once_and_once(me: ProcessIdentity) -> None:
    server = Recorder({"/ready": 503})
    probe = Probe("127.0.0.1", server.port, None)
    assert not probe.is_ready([me])
    server.statuses["/ready"] = 200
    assert probe.is_ready([me], hurry=True)
    assert not probe.is_ready([me], hurry=True)
    assert server.asked == ["/ready", "/ready"]


def test_a_stranger_isnt_even_asked(me: ProcessIdentity) -> None:
    server = Recorder({"/ready": 200})
    nobody = ProcessIdentity(me.pid + 1_000_000, 1, 1, me.boot_id)
    assert not Probe("127.0.0.1", server.port, "sk-secret").is_ready([nobody])
    assert server.asked == []


@pytest.mark.parametrize(
    ("version", "has_ready"),
    [("0.5.6.post2", False), ("0.5.11", False), ("0.5.23", True), (None, True), ("mine", True)],
)
def test_old_releases_are_known_not_to_have_it(version: str | None, has_ready: bool) -> None:
    here = Machine("host", "id", "boot", "namespace")
    moment = datetime(2026, 11, 30, tzinfo=UTC)
    record = LaunchRecord(
        name="a",
        launch="b",
        created_at=moment,
        argv=[],
        model="m",
        host="h",
        port=1,
        gpus=[],
        mark="x",
        machine=here,
        cwd="/",
        sglang_version=version,
    )
    assert make_order(["python", "-m", "sglang.launch_server"], {}, record)["has_ready"] is has_ready
