"""Choosing a port. SGLang binds it last, minutes after its start; until then the port is promised, machine-wide."""

from __future__ import annotations

import errno
import socket
from collections.abc import Sequence

from tui.errors import RefusedError, UsageError
from tui.keeper.readiness import reachable
from tui.launch.port_owner import describe_port_owner
from tui.launch.records import Recorded

_PORT_LIMIT = 65535


class Promise:
    """A port that no other launch on this machine will choose, whoever's it is, while the promise is held.

    It is the name of an abstract Unix socket: names and ports belong to the same network namespace, and the kernel
    takes the name back when its last holder dies. The keeper holds it from the launch to the end.
    """

    def __init__(self, port: int, holder: socket.socket) -> None:
        self.port = port
        self._holder = holder

    def fileno(self) -> int:
        """The descriptor to hand to the keeper."""
        return self._holder.fileno()

    def close(self) -> None:
        """Let go of it; whoever it was handed to still holds it."""
        self._holder.close()


def choose_port(
    ours: Sequence[Recorded], host: str, wanted: int | None, first: int, hint: int | None = None
) -> Promise:
    """The port asked for, if it is free; where none is, that of the hint, else the first free one from `first` on.

    Raises:
        UsageError: it isn't a port.
        RefusedError: it is taken; the message says by whom as far as that can be seen.
    """
    owners = {launch.launch.port: launch for launch in ours}
    if wanted is None:
        for port in (*(() if hint is None else (hint,)), *range(first, _PORT_LIMIT + 1)):
            promise = promise_port(port) if port not in owners and _can_bind(host, port) else None
            if promise is not None:
                return promise
        raise RefusedError(f"no free port from {first} on", "give one with --port")
    if not 0 < wanted <= _PORT_LIMIT:
        raise UsageError(f"{wanted} isn't a port", f"give a number from 1 to {_PORT_LIMIT}")
    if wanted in owners:
        owner = owners[wanted]
        raise RefusedError(
            f"port {wanted} belongs to {owner.launch.name}, which is {owner.current_state()}",
            "stop that one first, or give another --port",
        )
    if not _can_bind(host, wanted):
        raise RefusedError(
            f"port {wanted} on {host} is taken by {describe_port_owner(wanted)}",
            "end that, or give another --port",
        )
    promise = promise_port(wanted)
    if promise is None:
        raise RefusedError(
            f"port {wanted} is promised to a server of another user or state folder, which is still loading",
            "give another --port",
        )
    return promise


def promise_port(port: int) -> Promise | None:
    """Promise it, whoever listens there; None when it is promised already."""
    holder = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        holder.bind(f"\0sgltui/port/{port}")
    except OSError as error:
        holder.close()
        if error.errno == errno.EADDRINUSE:
            return None
        raise
    return Promise(port, holder)


def _can_bind(host: str, port: int) -> bool:
    """Nobody listens there. SO_REUSEADDR as uvicorn does, so that closed connections don't count."""
    try:
        infos = socket.getaddrinfo(host or "0.0.0.0", port, type=socket.SOCK_STREAM)  # noqa: S104 - only tried, then closed
    except (OSError, UnicodeError) as error:
        raise RefusedError(f"{host!r} is no address of this machine: {error}", "give another host") from error
    for family, kind, protocol, _, address in infos:
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(address)
            except OSError as error:
                if error.errno == errno.EADDRINUSE:
                    return False
                raise RefusedError(
                    f"can't listen on {host} port {port}: {error.strerror}", "give another host or port"
                ) from error
    return not _is_answered(host, port)


def _is_answered(host: str, port: int) -> bool:
    """Somebody accepts connections there, on another address of the same port than the one tried."""
    try:
        with socket.create_connection((reachable(host), port), timeout=0.5):
            return True
    except OSError:  # refused: nobody is there
        return False
