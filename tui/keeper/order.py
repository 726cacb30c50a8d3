"""What a keeper is told to run."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Order:
    """What the launcher hands over through a pipe: it may hold secrets, and is never written down.

    Attributes:
        argv: the server's command line.
        environment: its whole environment.
        cwd: its working directory.
        api_key: what readiness probes must present, if the server asks for a key.
        tls: it will speak HTTPS.
        has_ready: its release may have /ready.
        lacks: why the server can't be started with this; None when it can.
    """

    argv: list[str]
    environment: dict[str, str]
    cwd: str
    api_key: str | None
    tls: bool = False
    has_ready: bool = True
    lacks: str | None = None
