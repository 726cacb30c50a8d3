"""One small HTTP/1.1 request to a server of this machine, with every wait and every size bounded.

Neither redirects nor proxies are followed: the address is that of a socket whose owner has been proved. For the same
reason a certificate isn't verified: servers sign their own.
"""

from __future__ import annotations

import io
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import BadStatusLine, HTTPException, HTTPResponse
from typing import TYPE_CHECKING

from msgspec import Struct

from tui.keeper.names import connect
from tui.keeper.readiness import reachable

if TYPE_CHECKING:
    from ssl import SSLContext

_CONNECT_LIMIT_S = 2.0
_MOST_BYTES = 4 << 20  # 0.5.23 tells 75 kB on /metrics with one rank
_CONTROL = frozenset("\r\n\0")
_TLS_ALERT = "\x15\x03"  # what a server that waits for a handshake says to anything else


class NoAnswerError(Exception):
    """There was no usable answer; the text says why, in a few words."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a server listens, and what it asks for.

    Attributes:
        host: as it was told to bind.
        key: its API key, which no representation shows.
        tls: it was given a certificate.
    """

    host: str
    port: int
    key: str | None = field(default=None, repr=False)
    tls: bool = False


class Answer(Struct, frozen=True):
    """A whole answer."""

    status: int
    body: bytes


def get(endpoint: Endpoint, path: str, limit_s: float, most_bytes: int = _MOST_BYTES) -> Answer:
    """GET a path. The key goes along, since SGLang asks for it everywhere but on /health and /metrics.

    Raises:
        NoAnswerError: nobody answered in HTTP within `limit_s` in all, or with more than `most_bytes`.
    """
    with request(endpoint, "GET", path, None, limit_s) as response:
        body = response.read(most_bytes + 1)
        if len(body) > most_bytes:
            raise NoAnswerError(f"more than {most_bytes >> 20} MiB on {path}")
        if response.length:  # what is missing of the announced length
            raise NoAnswerError(f"it broke off in the middle of {path}")
        return Answer(response.status, body)


@contextmanager
def request(endpoint: Endpoint, method: str, path: str, body: bytes | None, limit_s: float) -> Iterator[HTTPResponse]:
    """The answer to one request, whose body is still to be read; all of it has to be over within `limit_s`.

    Raises:
        NoAnswerError: also for what happens while the body is read.
    """
    deadline = time.monotonic() + limit_s
    head = _head(endpoint, method, path, body)
    try:
        plain = connect(reachable(endpoint.host), endpoint.port, min(limit_s, _CONNECT_LIMIT_S))
        with plain, _secured(plain) if endpoint.tls else plain as connection:
            connection.settimeout(max(deadline - time.monotonic(), 1e-3))
            connection.sendall(head + (body or b""))
            response = HTTPResponse(_Readable(connection, deadline), method=method)  # type: ignore[arg-type]  # only makefile() is used
            with response:
                response.begin()
                yield response
    except TimeoutError:
        raise NoAnswerError(f"no answer within {limit_s:g} s") from None
    except ConnectionRefusedError:
        raise NoAnswerError("nobody listens on its port") from None
    except (HTTPException, ValueError) as error:  # ValueError: a chunk's or the body's length is no number
        raise NoAnswerError(_describe(error)) from None
    except OSError as error:  # reset, unreachable, no TLS, no such host
        raise NoAnswerError(error.strerror or str(error) or type(error).__name__) from None


def _describe(error: Exception) -> str:
    if isinstance(error, BadStatusLine) and str(error).startswith(_TLS_ALERT):
        return "it speaks TLS, which its command line doesn't say"
    return f"no HTTP from it ({type(error).__name__})"


def _head(endpoint: Endpoint, method: str, path: str, body: bytes | None) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", f"Host: {endpoint.host}:{endpoint.port}", "Connection: close"]
    if endpoint.key:
        if _CONTROL & set(endpoint.key):
            raise NoAnswerError("its API key holds a control character, which can't be sent")
        lines.append(f"Authorization: Bearer {endpoint.key}")
    if body is not None:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return ("\r\n".join(lines) + "\r\n\r\n").encode(errors="surrogateescape")


def _secured(plain: socket.socket) -> socket.socket:
    return _context().wrap_socket(plain)


def _context() -> SSLContext:
    import ssl  # noqa: PLC0415 - most servers speak plainly

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


class _Readable:
    """A connection as `HTTPResponse` wants it: something to make a file of, whose every read ends by the deadline."""

    def __init__(self, connection: socket.socket, deadline: float) -> None:
        self._connection = connection
        self._deadline = deadline

    def makefile(self, _mode: str) -> io.BufferedReader:
        """The file, for reading."""
        return io.BufferedReader(_Stream(self._connection, self._deadline))


class _Stream(io.RawIOBase):
    def __init__(self, connection: socket.socket, deadline: float) -> None:
        super().__init__()
        self._connection = connection
        self._deadline = deadline

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # any writable buffer will do
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._connection.settimeout(left)
        return self._connection.recv_into(buffer)
