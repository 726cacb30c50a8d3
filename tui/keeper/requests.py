"""What others ask of a keeper: one small file a request, moved into its folder by rename, taken by unlink."""

from __future__ import annotations

import contextlib
import json
import os
import stat
import uuid
from pathlib import Path
from typing import Any

from tui.atomic import write_atomic
from tui.keeper.stop import StopRequest

_MAX_BYTES = 64 * 1024


def post(folder: Path, request: StopRequest) -> Path:
    """Leave a stop request; the file's disappearance says that the keeper took it."""
    path = folder / f"stop-{uuid.uuid4().hex}.json"
    write_atomic(path, json.dumps({"verb": "stop", **vars(request)}).encode())
    return path


def take(folder: Path) -> StopRequest | None:
    """All waiting requests as one: the most impatient wins. None when nothing is asked.

    A keeper outlives any rubbish in its folder: what can't be read or isn't a request is passed over.
    """
    asked: StopRequest | None = None
    for path in sorted(folder.iterdir()):
        request = None if path.name.startswith(".") else _take_file(path)  # a dot: still being written
        if request is not None:
            asked = request.hurried(asked)
    return asked


def are_waiting(folder: Path) -> bool:
    """`take` would give something."""
    return any(_read_file(path) is not None for path in folder.iterdir() if not path.name.startswith("."))


def _take_file(path: Path) -> StopRequest | None:
    request = _read_file(path)
    with contextlib.suppress(OSError):  # a folder, say: it stays, and is passed over again
        path.unlink()
    return request


def _read_file(path: Path) -> StopRequest | None:
    try:
        # NONBLOCK: opening a pipe would wait for its writer.
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(fd, "rb") as file:
            document = file.read(_MAX_BYTES) if stat.S_ISREG(os.fstat(fd).st_mode) else b""
    except OSError:
        return None
    return _decode(document)


def _decode(document: bytes) -> StopRequest | None:
    try:
        value: dict[str, Any] = json.loads(document)
        if value["verb"] != "stop":
            return None
        return StopRequest(float(value["grace_s"]), float(value["release_wait_s"]), bool(value["kill"]))
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
