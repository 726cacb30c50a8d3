"""The options of `docker run`: what a server without a container can have of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from msgspec import Struct

from tui.presets.importing.words import Word

_SWITCHES = frozenset(
    {
        *("--detach", "--interactive", "--tty", "--rm", "--init", "--privileged", "--read-only", "--no-healthcheck"),
        *("--publish-all", "--oom-kill-disable", "--quiet", "--sig-proxy", "--disable-content-trust", "--replace"),
    }
)
_SHORT_SWITCHES = frozenset("ditPq")
_DEVICES = re.compile(r"""["']?device=([\w,-]+)["']?""")
_RESTARTS = ("always", "unless-stopped", "on-failure")
_PUBLISHED = re.compile(r"(?:(?P<host>\[[\da-fA-F:]+\]|[\d.]+):)?(?P<outside>\d{1,5}):(?P<inside>\d{1,5})(?:/tcp)?")


class Published(Struct, frozen=True):
    """A port of a container, and where it is reached from outside; `host` is None for all addresses."""

    inside: int
    outside: int
    host: str | None = None


@dataclass(slots=True)
class Container:
    """What the words before the image say.

    Attributes:
        rest: the words behind the image.
        entrypoint: takes the place of the image's own.
        options: as typed, that mean nothing without a container.
    """

    rest: Sequence[Word] = ()
    image: str | None = None
    entrypoint: Word | None = None
    environment: dict[str, Word] = field(default_factory=dict)
    gpus: str | None = None
    volumes: list[tuple[str, str]] = field(default_factory=list)
    ports: list[Published] = field(default_factory=list)
    restart: bool = False
    options: list[str] = field(default_factory=list)


def read_volume(text: str) -> tuple[str, str] | None:
    """`/host:/container[:ro]` in two; None for a named volume."""
    host, _, rest = text.partition(":")
    return _folders(host, rest.partition(":")[0])


def read_option(container: Container, word: Word, following: Word | None) -> int:
    """Read one option; how many words it has."""
    name, equals, _ = word.text.partition("=")
    if name in _SWITCHES or (not name.startswith("--") and set(name[1:]) <= _SHORT_SWITCHES):
        container.options.append(word.text)
        return 1
    if not name.startswith("--") and len(name) > len("-e"):  # -eNAME=value, -p8000:30000
        name, value, count = word.text[:2], word.after(2), 1
    elif equals:
        value, count = word.after(len(name) + 1), 1
    else:
        value, count = following or Word(""), 2
    reader = _READERS.get(name)
    if reader is None or not reader(container, value):
        container.options.append(f"{name} {value.text}")
    return count


def _read_environment(container: Container, value: Word) -> bool:
    name, equals, _ = value.text.partition("=")
    passed_through = Word(f"${name}", (f"${name}",), name)
    container.environment[name] = value.after(len(name) + 1) if equals else passed_through
    return True


def _read_gpus(container: Container, value: Word) -> bool:
    match = _DEVICES.fullmatch(value.text)
    if match:
        container.gpus = match[1]
    return match is not None or value.text == "all"


def _read_volume(container: Container, value: Word) -> bool:
    pair = read_volume(value.text)
    if pair is not None:
        container.volumes.append(pair)
    return False  # it is listed among what isn't kept, too


def _read_mount(container: Container, value: Word) -> bool:
    """`type=bind,source=/host,target=/container`."""
    fields = dict(part.partition("=")[::2] for part in value.text.split(","))
    host = fields.get("source") or fields.get("src") or ""
    pair = _folders(host, fields.get("target") or fields.get("dst") or fields.get("destination") or "")
    if pair is not None:
        container.volumes.append(pair)
    return False


def _folders(host: str, inside: str) -> tuple[str, str] | None:
    return (host, inside) if host.startswith(("/", "~/", "$", ".")) and inside.startswith("/") else None


def _read_port(container: Container, value: Word) -> bool:
    match = _PUBLISHED.fullmatch(value.text)
    if match:
        host = (match["host"] or "").strip("[]")
        everywhere = host in ("", "0.0.0.0", "::")  # noqa: S104 - read, not listened on
        container.ports.append(Published(int(match["inside"]), int(match["outside"]), None if everywhere else host))
    return False


def _read_restart(container: Container, value: Word) -> bool:
    container.restart = value.text.startswith(_RESTARTS)
    return container.restart or value.text == "no"


def _read_entrypoint(container: Container, value: Word) -> bool:
    container.entrypoint = value
    return True


_READERS: dict[str, Callable[[Container, Word], bool]] = {
    "-e": _read_environment,
    "--env": _read_environment,
    "--gpus": _read_gpus,
    "-v": _read_volume,
    "--volume": _read_volume,
    "--mount": _read_mount,
    "-p": _read_port,
    "--publish": _read_port,
    "--restart": _read_restart,
    "--entrypoint": _read_entrypoint,
}
