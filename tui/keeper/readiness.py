"""Ready is proved, never believed: the port is listened on by a member, and a cheap endpoint answers 200."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterable

from tui.keeper import procfs
from tui.keeper.identity import ProcessIdentity

# Answers without running the model (2 to 8 ms on 0.5.11); /health would generate a token and write log lines.
ENDPOINT = "/model_info"
_LIMIT_S = 1.0
_OK = b"200"


def owns_port(members: Iterable[ProcessIdentity], port: int) -> bool:
    """A socket that listens on `port` belongs to one of the members."""
    listeners = procfs.listening(port)
    return bool(listeners) and any(listeners & procfs.sockets(member.pid) for member in members)


def answers(host: str, port: int, api_key: str | None, *, tls: bool = False) -> bool:
    """`ENDPOINT` answers 200 within a second, however slowly the other side talks.

    A certificate isn't verified: whose port it is has been proved already, by the socket's owner.
    """
    deadline = time.monotonic() + _LIMIT_S
    try:
        plain = socket.create_connection((reachable(host), port), timeout=_LIMIT_S)
        with plain, _secured(plain) if tls else plain as connection:
            connection.sendall(_request(host, port, api_key))
            return _status(connection, deadline) == _OK
    except (OSError, UnicodeError):  # refused, reset, too slow: not yet; or a host name that can't be one
        return False


def reachable(host: str) -> str:
    """The address under which a server bound to `host` is reached from this machine."""
    return {"0.0.0.0": "127.0.0.1", "": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - compared, not bound


def _secured(plain: socket.socket) -> socket.socket:
    import ssl  # noqa: PLC0415 - 2 MB that most keepers never need

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context.wrap_socket(plain)


def _request(host: str, port: int, api_key: str | None) -> bytes:
    key = f"Authorization: Bearer {api_key}\r\n" if api_key else ""
    return f"GET {ENDPOINT} HTTP/1.0\r\nHost: {host}:{port}\r\n{key}Connection: close\r\n\r\n".encode(
        errors="surrogateescape"
    )


def _status(connection: socket.socket, deadline: float) -> bytes | None:
    """The status code of an HTTP response's first line."""
    head = b""
    while b"\n" not in head and len(head) < 1024:  # noqa: PLR2004 - a status line is far shorter
        connection.settimeout(max(0.001, deadline - time.monotonic()))
        chunk = connection.recv(256)
        if not chunk or time.monotonic() > deadline:
            return None
        head += chunk
    words = head.split(b"\n", 1)[0].split()
    return words[1] if len(words) > 1 and words[0].startswith(b"HTTP/") else None
