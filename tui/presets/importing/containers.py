"""`docker run` and its likes: what of a container can be said of a server without one, and what can't."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from tui.presets.importing.remarks import Remarks, quote
from tui.presets.importing.words import Word

ENGINES = frozenset({"docker", "podman", "nerdctl", "nvidia-docker"})
_VERBS = frozenset({"run", "exec", "create"})
_SWITCHES = frozenset(
    {
        *("--detach", "--interactive", "--tty", "--rm", "--init", "--privileged", "--read-only", "--no-healthcheck"),
        *("--publish-all", "--oom-kill-disable", "--quiet", "--sig-proxy", "--disable-content-trust", "--replace"),
    }
)
_SHORT_SWITCHES = frozenset("ditPq")
_RELEASE = re.compile(r"v?(\d+\.\d+\.\d+(?:\.post\d+|rc\d+)?)(?:[-_].*)?")
_DEVICES = re.compile(r"""["']?device=([\w,-]+)["']?""")
_RESTARTS = ("always", "unless-stopped", "on-failure")


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
    restart: bool = False
    options: list[str] = field(default_factory=list)


def read_container(words: Sequence[Word], remarks: Remarks) -> Container | None:
    """`docker run …` or `docker exec …`; None where it is another command."""
    if len(words) < 2 or PurePosixPath(words[0].text).name not in ENGINES:  # noqa: PLR2004 - ENGINE VERB
        return None
    verb = next((at for at, word in enumerate(words[1:4], 1) if word.text in _VERBS), None)
    if verb is None:
        return None
    container, at = Container(), verb + 1
    while at < len(words) and words[at].text.startswith("-"):
        at += _read_option(container, words[at], words[at + 1] if at + 1 < len(words) else None)
    container.image = words[at].text if at < len(words) and words[verb].text != "exec" else None
    container.rest = words[at + 1 :]
    _say(container, words[verb].text, words[at].text if at < len(words) else "", remarks)
    return container


def release_of(image: str) -> str | None:
    """The release that an image's tag names: `lmsysorg/sglang:v0.5.11-cu126` -> `0.5.11`."""
    match = _RELEASE.fullmatch(image.rpartition(":")[2]) if ":" in image else None
    return match[1] if match else None


def say_image(image: str, remarks: Remarks) -> None:
    """No preset can name an image."""
    release = release_of(image)
    tag = f" Its tag says SGLang {release}, which is kept." if release else ""
    remarks.lost(
        f"the image {image}: sgltui starts servers with a Python of this machine, not in containers.{tag} "
        "Give one that has this SGLang in [engine] python"
    )


def read_volume(text: str) -> tuple[str, str] | None:
    """`/host:/container[:ro]` in two; None for a named volume."""
    host, _, rest = text.partition(":")
    inside = rest.partition(":")[0]
    return (host, inside) if host.startswith(("/", "~/", "$", ".")) and inside.startswith("/") else None


def _read_option(container: Container, word: Word, following: Word | None) -> int:
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
    "--restart": _read_restart,
    "--entrypoint": _read_entrypoint,
}


def _say(container: Container, verb: str, name: str, remarks: Remarks) -> None:
    if container.image is not None:
        say_image(container.image, remarks)
    else:
        remarks.lost(f"the container {name}: sgltui starts servers on this machine, not in containers")
    harmless = {"--rm", "-d", "-it", "-i", "-t", "--detach", "--interactive", "--tty", "-dit", "-itd", "-ti"}
    kept_back = [option for option in container.options if option not in harmless]
    if kept_back:
        remarks.lost(f"what only a container has: {quote(' '.join(kept_back))} of `docker {verb}`")
