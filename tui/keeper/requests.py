"""What others ask of a keeper: one small file a request, moved into its folder by rename, taken by unlink."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

from tui.atomic import write_atomic
from tui.keeper.stop import StopRequest


def post(folder: Path, request: StopRequest) -> Path:
    """Leave a stop request; the file's disappearance says that the keeper took it."""
    path = folder / f"stop-{uuid.uuid4().hex}.json"
    write_atomic(path, json.dumps({"verb": "stop", **vars(request)}).encode())
    return path


def take(folder: Path) -> StopRequest | None:
    """All waiting requests as one: the most impatient wins. None when nothing is asked."""
    requests = [_decode(document) for document in _take_files(folder)]
    asked = [request for request in requests if request is not None]
    if not asked:
        return None
    return StopRequest(
        grace_s=min(request.grace_s for request in asked),
        release_wait_s=min(request.release_wait_s for request in asked),
        kill=any(request.kill for request in asked),
    )


def _take_files(folder: Path) -> list[bytes]:
    documents = []
    for path in sorted(folder.iterdir()):
        if path.name.startswith("."):
            continue  # still being written
        documents.append(path.read_bytes())
        path.unlink()
    return documents


def _decode(document: bytes) -> StopRequest | None:
    """A request, or None for what isn't one: a keeper outlives any rubbish in its folder."""
    try:
        value: dict[str, Any] = json.loads(document)
        if value["verb"] != "stop":
            return None
        return StopRequest(float(value["grace_s"]), float(value["release_wait_s"]), bool(value["kill"]))
    except (ValueError, KeyError, TypeError):
        return None
