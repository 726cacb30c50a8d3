"""Ready is proved, never believed: the port is listened on by a member, and a cheap endpoint answers 200."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterable

from tui.keeper import procfs
from tui.keeper.identity import ProcessIdentity
from tui.keeper.listeners import Listener, listeners
from tui.keeper.names import addresses, connect

# Both answer without running the model (2 to 8 ms); /health would generate a token and write log lines.
_READY = "/ready"  # 0.5.23 has it, 0.5.11 doesn't: 503 until its warm-up is over, and once it drains
_MODEL_INFO = "/model_info"
_LIMIT_S = 1.0
_PERIOD_S = 1.0  # each request is a line in the server's log
_OK, _NOT_FOUND = b"200", b"404"
_MAPPED = bytes(10) + b"\xff\xff"  # how a socket of both families calls an IPv4 address


class Probe:
    """Finds out whether a server is ready, with one request a second at most.

    Args:
        host: as the server was told to bind.
        api_key: what it asks for, or None.
        tls: it speaks HTTPS.
        has_ready: its release may have /ready. One that turns out not to is asked for /model_info at once.
    """

    def __init__(self, host: str, port: int, api_key: str | None, *, tls: bool = False, has_ready: bool = True) -> None:
        self._host = host
        self._port = port
        self._api_key = api_key
        self._tls = tls
        self._endpoint = _READY if has_ready else _MODEL_INFO
        self._asked_at = -_PERIOD_S
        self._hurried = False

    def is_ready(self, members: Iterable[ProcessIdentity], *, hurry: bool = False) -> bool:
        """One of the members listens on the port, and answers that it is ready.

        Args:
            members: processes of the server.
            hurry: there is a sign that it is: ask now, once, though the second isn't over.
        """
        is_due = time.monotonic() - self._asked_at >= _PERIOD_S or (hurry and not self._hurried)
        if not is_due or not owns_port(members, self._port, self._host):
            return False
        self._asked_at, self._hurried = time.monotonic(), hurry
        status = self._ask()
        if status == _NOT_FOUND and self._endpoint == _READY:
            self._endpoint = _MODEL_INFO
            status = self._ask()
        return status == _OK

    def _ask(self) -> bytes | None:
        return ask(self._host, self._port, self._api_key, tls=self._tls, path=self._endpoint)


def owns_port(members: Iterable[ProcessIdentity], port: int, host: str | None = None) -> bool:
    """A socket that listens on `port` belongs to one of the members.

    Args:
        members: processes of the server.
        port: where it listens.
        host: as it was told to bind: then it has to be the members whom a client of that address reaches. Another
            program may listen on the same port of a single address, and is preferred to who listens on all.
    """
    found = listeners(port)
    inodes = {inode for _, inode in found}
    held = {inode for member in members for inode in procfs.sockets(member.pid)} if inodes else set()
    if host is None or inodes <= held:  # nobody else listens on it: no need to look up a name, which may take long
        return bool(inodes & held)
    reached = _reached(found, host)
    return bool(reached) and reached <= held


def _reached(found: Iterable[Listener], host: str) -> set[int]:
    """Inodes of the sockets that connections to a server bound to `host` may reach."""
    reached: set[int] = set()
    for address in map(_packed, addresses(reachable(host))):
        for wanted in _preference(address):
            inodes = {inode for local, inode in found if local == wanted}
            if inodes:
                reached |= inodes
                break
    return reached


def _packed(address: str) -> bytes:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    return socket.inet_pton(family, address.partition("%")[0])


def _preference(address: bytes) -> list[bytes]:
    """Local addresses of listening sockets that take a connection to `address`, as the kernel prefers them."""
    everywhere = bytes(16)
    if len(address) == len(everywhere):
        return [address, everywhere]
    return [address, _MAPPED + address, bytes(4), everywhere]


def answers(host: str, port: int, api_key: str | None, *, tls: bool = False) -> bool:
    """/model_info answers 200 within a second, however slowly the other side talks."""
    return ask(host, port, api_key, tls=tls, path=_MODEL_INFO) == _OK


def ask(host: str, port: int, api_key: str | None, *, tls: bool, path: str) -> bytes | None:
    """The status with which a path is answered, or None where nobody answers within a second.

    A certificate isn't verified: whose port it is has been proved already, by the socket's owner.
    """
    deadline = time.monotonic() + _LIMIT_S
    try:
        plain = connect(reachable(host), port, _LIMIT_S)
        with plain, _secured(plain) if tls else plain as connection:
            connection.sendall(_request(host, port, api_key, path))
            return _status(connection, deadline)
    except (OSError, UnicodeError):  # refused, reset, too slow: not yet; or a host name that can't be one
        return None


def reachable(host: str) -> str:
    """The address under which a server bound to `host` is reached from this machine."""
    return {"0.0.0.0": "127.0.0.1", "": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - compared, not bound


def _secured(plain: socket.socket) -> socket.socket:
    import ssl  # noqa: PLC0415 - 2 MB that most keepers never need

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context.wrap_socket(plain)


def _request(host: str, port: int, api_key: str | None, path: str) -> bytes:
    key = f"Authorization: Bearer {api_key}\r\n" if api_key else ""
    return f"GET {path} HTTP/1.0\r\nHost: {host}:{port}\r\n{key}Connection: close\r\n\r\n".encode(
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
