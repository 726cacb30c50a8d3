"""A server on a loopback port that answers as badly as it is told to."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

Talk = Callable[[socket.socket], None]


@contextmanager
def rude_server(talk: Talk) -> Iterator[int]:
    """A port; each connection's request head is read, then `talk` has it in a thread of its own."""
    listener = socket.create_server(("127.0.0.1", 0))

    def one(connection: socket.socket) -> None:
        with connection, suppress(OSError):  # the client may leave at any moment
            read_head(connection)
            talk(connection)

    def serve() -> None:
        with suppress(OSError):  # closed: the test is over
            while True:
                connection, _ = listener.accept()
                threading.Thread(target=one, args=(connection,), daemon=True).start()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


def read_head(connection: socket.socket) -> bytes:
    """Up to the blank line; bodies of these tests fit behind it in one piece."""
    head = b""
    while b"\r\n\r\n" not in head:
        piece = connection.recv(65536)
        if not piece:
            break
        head += piece
    return head


def saying(body: bytes, status: str = "200 OK", headers: str = "") -> Talk:
    """A plain answer."""
    head = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{headers}\r\n".encode()
    return lambda connection: connection.sendall(head + body)


def dripping(connection: socket.socket) -> None:
    """A slow loris: a byte at a time, never silent for long, for ever."""
    ended = threading.Event()
    for byte in b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + b"x" * 100000:
        connection.sendall(bytes([byte]))
        ended.wait(0.05)


def endless(connection: socket.socket) -> None:
    """More than anybody wants to hold."""
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 200000000\r\n\r\n")
    for _ in range(200):
        connection.sendall(bytes(1_000_000))
