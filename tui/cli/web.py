"""`sgltui web`."""

from __future__ import annotations

import argparse
import errno
import getpass
import ipaddress
import secrets
import shlex
import socket
import sys
from pathlib import Path

from tui.errors import ExitCode, SgltuiError, UsageError
from tui.paths import find_places
from tui.settings import load_settings

_INSTALL = "pip install 'sgltui[web]'"


def web(options: argparse.Namespace) -> ExitCode:
    """Serve the UI on a loopback address to a browser that has the URL's key, until ctrl-c; servers go on running."""
    host = loopback(options.host)
    load_settings(find_places())  # a broken file is told here, and not to each browser
    try:
        from tui.app.web import serve  # noqa: PLC0415 - what only this command needs, and not everybody has
    except ModuleNotFoundError as error:
        raise SgltuiError(f"`sgltui web` needs {error.name}, which isn't installed", _INSTALL) from None
    key = secrets.token_urlsafe(16)
    with listening(host, options.port) as listener:
        print(announcement(host, options.port, key), flush=True)
        serve(ui_command(options), listener, key)
    return ExitCode.DONE


def loopback(host: str) -> str:
    """The address as a number.

    Raises:
        UsageError: others than this machine's users could reach it.
    """
    try:
        address = ipaddress.ip_address("127.0.0.1" if host == "localhost" else host.strip("[]"))
    except ValueError:
        raise UsageError(f"{host!r} isn't an address of this machine alone", "give 127.0.0.1 or ::1") from None
    if not address.is_loopback:
        why = "who reaches the page can stop servers and launch commands as you, and nothing on the way is encrypted"
        raise UsageError(f"{address} isn't a loopback address: {why}", "keep 127.0.0.1, and come by `ssh -L`")
    return str(address)


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens there.

    Raises:
        SgltuiError: it can't.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # one that was just left may be taken again
    try:
        listener.bind((host, port))
        listener.listen()
    except OSError as error:
        listener.close()
        why = "is taken" if error.errno == errno.EADDRINUSE else f"can't be used: {error.strerror}"
        raise SgltuiError(f"port {port} of {host} {why}", "give another one with --port") from error
    return listener


def announcement(host: str, port: int, key: str) -> str:
    """What is printed: the page, and the way to it from elsewhere."""
    shown = f"[{host}]" if ":" in host else host
    return (
        f"http://{shown}:{port}/?key={key}\n"
        "From another machine, this line first, and then the same URL there:\n"
        f"ssh -N -L {port}:{shown}:{port} {getpass.getuser()}@{socket.gethostname()}\n"
        "Whoever has the URL acts as you: keep it to yourself. Ctrl-C ends the page; servers go on running."
    )


def ui_command(options: argparse.Namespace) -> str:
    """The UI with the same options, as a line for a shell."""
    words = [sys.executable, "-m", "tui", "ui"]
    words += [f"--{name.replace('_', '-')}" for name in ("read_only", "ascii") if getattr(options, name, False)]
    presets: Path | None = getattr(options, "presets", None)
    return shlex.join([*words, *(["--presets", str(presets)] if presets is not None else [])])
