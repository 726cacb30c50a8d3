"""`docker run` and its likes: what of a container can be said of a server without one, and what can't."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath

from tui.presets.importing.container_options import Container, read_option
from tui.presets.importing.remarks import Remarks, quote
from tui.presets.importing.words import Word

ENGINES = frozenset({"docker", "podman", "nerdctl", "nvidia-docker"})
_VERBS = frozenset({"run", "exec", "create"})
_BEFORE_VERB = 8  # words: `docker --context gpu-box --log-level debug container run`
_MOST_BEFORE = 64  # words before `docker`
_RELEASE = re.compile(r"v?(\d+\.\d+\.\d+(?:\.post\d+|rc\d+)?)(?:[-_].*)?")
_HARMLESS = frozenset({"--rm", "-d", "-it", "-i", "-t", "--detach", "--interactive", "--tty", "-dit", "-itd", "-ti"})


def with_entrypoint(words: Sequence[Word]) -> Sequence[Word]:
    """The words with `--entrypoint` behind the image, where it is what is started."""
    container = _first_container(words)
    if container is None or container.entrypoint is None or container.image is None:
        return words
    started = [Word(text) for text in container.entrypoint.text.split()]
    return [*words[: len(words) - len(container.rest)], *started, *container.rest]


def read_container(words: Sequence[Word], remarks: Remarks) -> Container | None:
    """`docker run …` or `docker exec …`; None where it is another command."""
    if len(words) < 2 or PurePosixPath(words[0].text).name not in ENGINES:  # noqa: PLR2004 - ENGINE VERB
        return None
    verb = next((at for at, word in enumerate(words[1:_BEFORE_VERB], 1) if word.text in _VERBS), None)
    if verb is None:
        return None
    container, at = Container(), verb + 1
    while at < len(words) and words[at].text.startswith("-"):
        at += read_option(container, words[at], words[at + 1] if at + 1 < len(words) else None)
    container.image = words[at].text if at < len(words) and words[verb].text != "exec" else None
    container.rest = words[at + 1 :]
    _say(container, [word.text for word in words[1 : verb + 1]], words[at].text if at < len(words) else "", remarks)
    return container


def say_what_starts(words: Sequence[Word], remarks: Remarks) -> None:
    """Of a container without a server among its words: nobody here knows what its image starts."""
    container = _first_container(words)
    if container is not None and container.image and (not container.rest or container.rest[0].text.startswith("-")):
        remarks.obstacle = f"what the image {container.image} starts by itself isn't known here"


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


def _first_container(words: Sequence[Word]) -> Container | None:
    """Behind `sudo`, variables and the like."""
    for at, word in enumerate(words[:_MOST_BEFORE]):
        if PurePosixPath(word.text).name in ENGINES and (found := read_container(words[at:], Remarks())) is not None:
            return found
    return None


def _say(container: Container, verbs: Sequence[str], name: str, remarks: Remarks) -> None:
    *before, verb = verbs
    if "compose" in before:
        remarks.lost(f"the compose service {name}: its image, variables and volumes stand in its file; import that")
    elif container.image is not None:
        say_image(container.image, remarks)
    else:
        remarks.lost(f"the container {name}: sgltui starts servers on this machine, not in containers")
    of_engine = [word for word in before if word not in ("container", "compose")]
    if of_engine:
        remarks.lost(f"{quote(' '.join(of_engine))} of `docker`: it may mean another machine")
    kept_back = [option for option in container.options if option not in _HARMLESS]
    if kept_back:
        remarks.lost(f"what only a container has: {quote(' '.join(kept_back))} of `docker {verb}`")
