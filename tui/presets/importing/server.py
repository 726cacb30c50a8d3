"""Where in a command the server begins: `python -m sglang.launch_server`, `sglang serve`, and how people vary them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from msgspec import Struct

from tui.presets.importing.container_options import Published
from tui.presets.importing.words import Word
from tui.sglang.interpreter import Entry

_PYTHON = re.compile(r"(?:pypy|python)[\d.]*t?")
_MODULES = frozenset({"sglang.launch_server", "sglang.srt.entrypoints.http_server"})
_SCRIPT = "launch_server.py"
_WITH_VALUE = frozenset({"-W", "-X", "--check-hash-based-pycs"})


class Start(Struct, frozen=True):
    """A server's place among the words of a command.

    Attributes:
        at: the first word of it; what stands before is somebody else's.
        arguments: of the server.
        python: its interpreter, where a path was typed.
    """

    at: int
    arguments: tuple[Word, ...]
    entry: Entry = "launch_server"
    python: str | None = None


@dataclass(slots=True)
class Call:
    """A server that is called, with all that was said around it.

    Attributes:
        gpus: as `CUDA_VISIBLE_DEVICES` or `--gpus device=` name them.
        volumes: (host, container) folders of a container.
        ports: of a container, that are published.
        is_contained: GPUs, paths and ports are those of a container.
        release: of SGLang, where the name of an image tells it.
        restart: it is to be started again when it fails.
    """

    arguments: tuple[Word, ...]
    entry: Entry = "launch_server"
    python: str | None = None
    environment: dict[str, Word] = field(default_factory=dict)
    gpus: str | None = None
    volumes: list[tuple[str, str]] = field(default_factory=list)
    ports: list[Published] = field(default_factory=list)
    is_contained: bool = False
    release: str | None = None
    restart: bool = False
    restart_pause_s: float | None = None


def find_start(words: Sequence[Word]) -> Start | None:
    """The first server among the words."""
    for at, word in enumerate(words):
        found = _start_at(words, at, word.text)
        if found is not None:
            return found
    return None


def _start_at(words: Sequence[Word], at: int, text: str) -> Start | None:
    texts = [word.text for word in words[at : at + 8]]
    program = PurePosixPath(text).name
    if program == "sglang" and texts[1:2] == ["serve"]:
        return Start(at, tuple(words[at + 2 :]), "serve", _beside(text))
    if text == "-m" and texts[1:2] and texts[1] in _MODULES:  # an image whose entry point is Python
        return Start(at, tuple(words[at + 2 :]))
    return _behind_python(words, at, texts) if _PYTHON.fullmatch(program) else None


def _behind_python(words: Sequence[Word], at: int, texts: Sequence[str]) -> Start | None:
    offset = _skip_options(texts)
    called = texts[offset : offset + 2]
    python = texts[0] if texts[0] not in ("python", "python3") else None
    if len(called) == 2 and called[0] == "-m" and called[1] in _MODULES:  # noqa: PLR2004 - `-m MODULE`
        return Start(at, tuple(words[at + offset + 2 :]), python=python)
    if called and PurePosixPath(called[0]).name == _SCRIPT:
        return Start(at, tuple(words[at + offset + 1 :]), python=python)
    if called[1:2] == ["serve"] and PurePosixPath(called[0]).name == "sglang":  # how a running one looks
        return Start(at, tuple(words[at + offset + 2 :]), "serve", python)
    return None


def _skip_options(texts: Sequence[str]) -> int:
    at = 1
    while at < len(texts) and texts[at].startswith("-") and texts[at] not in ("-m", "-c", "-"):
        at += 2 if texts[at] in _WITH_VALUE else 1
    return at


def _beside(script: str) -> str | None:
    """The interpreter of a virtual environment's own `sglang`."""
    return str(PurePosixPath(script).parent / "python") if "/" in script else None
