"""Which file system a path is on."""

from __future__ import annotations

import re
from pathlib import Path

from msgspec import Struct

_MOUNTS = Path("/proc/self/mounts")
_OCTAL = re.compile(r"\\([0-7]{3})")


class Mount(Struct, frozen=True):
    """A mounted file system, as `/proc/self/mounts` lists it."""

    point: Path
    kind: str
    options: tuple[str, ...]


def find_mount(path: Path, mounts: Path = _MOUNTS) -> Mount | None:
    """The file system that `path` is on; None where that can't be told."""
    try:
        lines = mounts.read_text(errors="replace").splitlines()
    except OSError:
        return None
    resolved = path.resolve()
    found = [mount for mount in map(_read, lines) if resolved.is_relative_to(mount.point)]
    # Of two on the same point the later one lies on top.
    return max(enumerate(found), key=lambda pair: (len(pair[1].point.parts), pair[0]))[1] if found else None


def _read(line: str) -> Mount:
    _, point, kind, options, *_ = line.split(" ")
    return Mount(Path(_OCTAL.sub(lambda match: chr(int(match[1], 8)), point)), kind, tuple(options.split(",")))
