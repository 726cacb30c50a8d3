"""The addresses of a host without waiting for a name server that doesn't answer, which may take half a minute."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress

_LIMIT_S = 1.0
_FRESH_S = 60.0


class _Lookup:
    """One name, looked up in a thread of its own."""

    def __init__(self, host: str, known: list[str]) -> None:
        self._host = host
        self.found = known  # until it is known better
        self.at_s = time.monotonic()
        self.ended = threading.Event()
        try:
            # A daemon: nobody waits for it at the end, however long the name server takes.
            threading.Thread(target=self._look, name="host-name", daemon=True).start()
        except RuntimeError:  # no thread is to be had: another time
            self.ended.set()

    def _look(self) -> None:
        with suppress(OSError, UnicodeError):  # nobody knows it, or it can't be a name
            self.found = _resolve(self._host)
        self.ended.set()


_lookups: dict[str, _Lookup] = {}


def addresses(host: str) -> list[str]:
    """Numeric addresses of a host; none where nobody knows it, or not within a second.

    What is looked up goes on behind, and is known at a later call; it is looked up again after a minute, and what was
    known holds until then.
    """
    with suppress(OSError, UnicodeError):
        return _resolve(host, socket.AI_NUMERICHOST)
    newest = _lookups.get(host)
    if newest is None or (newest.ended.is_set() and time.monotonic() - newest.at_s > _FRESH_S):
        newest = _lookups[host] = _Lookup(host, [] if newest is None else newest.found)
    if not newest.found:
        newest.ended.wait(max(0.0, newest.at_s + _LIMIT_S - time.monotonic()))
    return newest.found


def connect(host: str, port: int, limit_s: float) -> socket.socket:
    """A connection to the first address that takes one.

    Raises:
        OSError: none does within `limit_s` each, or there is none.
    """
    error = OSError(f"{host} can't be resolved")
    for address in addresses(host):
        try:
            return socket.create_connection((address, port), timeout=limit_s)
        except OSError as failed:
            error = failed
    raise error


def _resolve(host: str, flags: int = 0) -> list[str]:
    """Each once, in the resolver's order."""
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=flags)
    return list(dict.fromkeys(str(place[0]) for *_, place in found))
