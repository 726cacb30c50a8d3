"""One request, whatever the other side does: bounded time, bounded memory, and a reason."""

from __future__ import annotations

import socket
import subprocess
import threading
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.rude import dripping, endless, read_head, rude_server, saying
from tui.sglang.http import Answer, Endpoint, NoAnswerError, get

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
EXTENSION, LONG = b"x" * 100_000, r"no HTTP from it \(LineTooLong\)"
SILENT_S, LIMIT_S = 0.5, 30.0  # the second one bounds a failing test only


def ask(port: int, limit_s: float = LIMIT_S) -> Answer:
    return get(Endpoint("127.0.0.1", port), "/metrics", limit_s)


def test_a_plain_answer() -> None:
    with rude_server(saying(b"hello")) as port:
        assert ask(port) == Answer(200, b"hello")


@pytest.mark.parametrize("status", ["401 Unauthorized", "503 Service Unavailable", "302 Found"])
def test_other_statuses_are_answers_and_redirects_arent_followed(status: str) -> None:
    with rude_server(saying(b"", status, "Location: http://127.0.0.1:1/elsewhere\r\n")) as port:
        assert ask(port).status == int(status[:3])


@pytest.mark.parametrize("talk", [dripping, lambda _: threading.Event().wait(3) and None], ids=["loris", "silent"])
def test_who_takes_too_long_is_left(talk: Callable[[socket.socket], None]) -> None:
    with rude_server(talk) as port, pytest.raises(NoAnswerError, match=r"no answer within 0\.5 s"):
        ask(port, SILENT_S)


@pytest.mark.parametrize(
    ("talk", "why"),
    [
        (lambda connection: connection.sendall(b"\x00\xff\x1b[2J no web server\r\n\r\n"), "no HTTP from it"),
        (
            lambda connection: connection.sendall(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200 + b"\r\n"),
            "no HTTP from it",
        ),
        (lambda connection: connection.sendall(b"HTTP/1.1 200 " + b"x" * 100_000), "no HTTP from it"),
        (
            lambda connection: connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"),
            "it broke off",
        ),
        (
            lambda connection: connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"),
            "no HTTP from it",
        ),
        (
            lambda connection: connection.sendall(CHUNKED + b"1;" + EXTENSION),
            LONG,
        ),
        (lambda connection: connection.sendall(b"\x15\x03\x03\x00\x02\x02\x46"), "it speaks TLS"),
        (lambda _: None, "no HTTP from it"),
    ],
    ids=["rubbish", "headers", "long line", "cut", "chunks", "chunk's extension", "TLS", "hangs up"],
)
def test_bad_answers_have_a_reason(talk: Callable[[socket.socket], None], why: str) -> None:
    with rude_server(talk) as port, pytest.raises(NoAnswerError, match=why):
        ask(port)


@pytest.mark.parametrize(
    ("head", "piece"),
    [
        (CHUNKED, b"1\r\nx\r\n" * 2000),
        (CHUNKED + b"1\r\nx\r\n0\r\n", b"X: y\r\n" * 2000),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 500),
        (b"HTTP/1.1 200 OK\r\nX: ", b"y" * 60_000 + b"\r\nX: "),
        (CHUNKED + b"ffffffffffff\r\n", bytes(100_000)),
        (b"HTTP/1.1 200 OK\r\n\r\n", b"sglang:num_running_reqs 1\n" * 2000),
    ],
    ids=["chunks", "trailers", "continue", "header bomb", "huge chunk", "no length"],
)
def test_what_never_ends_is_left_in_time_and_without_its_bytes(head: bytes, piece: bytes) -> None:
    def talk(connection: socket.socket) -> None:
        connection.sendall(head)
        while True:  # until the client has left
            connection.sendall(piece)

    tracemalloc.start()
    try:
        with rude_server(talk) as port, pytest.raises(NoAnswerError, match=r"no answer within|more than|no HTTP"):
            ask(port, 2 * SILENT_S)
        assert tracemalloc.get_traced_memory()[1] < 48 << 20
    finally:
        tracemalloc.stop()


def test_200_mb_are_left_where_they_are() -> None:
    tracemalloc.start()
    try:
        with rude_server(endless) as port, pytest.raises(NoAnswerError, match="more than 4 MiB on /metrics"):
            get(Endpoint("127.0.0.1", port), "/metrics", 30)
        assert tracemalloc.get_traced_memory()[1] < 32 << 20
    finally:
        tracemalloc.stop()


def test_nobody_listens() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        with pytest.raises(NoAnswerError, match="nobody listens on its port"):
            ask(probe.getsockname()[1])


def test_the_key_goes_along_and_is_never_shown() -> None:
    heads: list[bytes] = []

    listener = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=lambda: heads.append(_answer_once(listener)), daemon=True)
    thread.start()
    endpoint = Endpoint("127.0.0.1", listener.getsockname()[1], "sk-secret")
    assert get(endpoint, "/model_info", 5).body == b"ok"
    thread.join()
    listener.close()
    assert b"\r\nAuthorization: Bearer sk-secret\r\n" in heads[0]
    assert "sk-secret" not in repr(endpoint)


def _answer_once(listener: socket.socket) -> bytes:
    connection, _ = listener.accept()
    with connection:
        head = read_head(connection)
        saying(b"ok")(connection)
    return head


def test_a_key_cant_smuggle_headers() -> None:
    with pytest.raises(NoAnswerError, match="control character"):
        get(Endpoint("127.0.0.1", 1, "key\r\nX-Evil: 1"), "/metrics", 1)


def test_a_self_signed_server_is_understood(tmp_path: Path) -> None:
    import ssl  # noqa: PLC0415 - for this test alone

    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    words = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=somebody-else"]
    made = subprocess.run([*words, "-keyout", key, "-out", certificate], capture_output=True, check=False)
    if made.returncode:
        pytest.skip("no openssl here")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        connection, _ = listener.accept()
        with context.wrap_socket(connection, server_side=True) as secured:
            secured.recv(65536)
            secured.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nsafe")

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    assert get(Endpoint("127.0.0.1", listener.getsockname()[1], tls=True), "/metrics", 10) == Answer(200, b"safe")
    thread.join()
    listener.close()


def test_plain_speech_to_who_expects_tls_has_a_reason() -> None:
    with rude_server(saying(b"plain")) as port, pytest.raises(NoAnswerError):
        get(Endpoint("127.0.0.1", port, tls=True), "/metrics", 5)
