"""The last words on a launch, from the diagnosis that was kept beside it; read again only when that changed."""

from __future__ import annotations

from pathlib import Path

import msgspec

from tui.keeper.states import ENDED, State
from tui.launch.records import Recorded

_SCHEMA = 1  # of `tui.diagnosis.answer`, whose import `ps` can do without
_MOST_BYTES = 1 << 20  # it has some 5 kB; a larger file isn't ours
_KEPT = 256

_Stamp = tuple[int, int, int]


class Finding(msgspec.Struct, frozen=True):
    """What lists show of a diagnosis.

    Attributes:
        brief: what happened, in a few words; None where the log's own words are better.
        short_gib: by how much GPU memory was short.
        state: of the launch when it was judged.
    """

    schema: int
    state: State | None = None
    brief: str | None = None
    short_gib: float | None = None


_read: dict[Path, tuple[_Stamp, Finding | None]] = {}


def read_finding(recorded: Recorded) -> Finding | None:
    """Of a launch that is over; None while nothing was kept of its end, or nothing that this release can read."""
    path = recorded.files.diagnosis
    try:
        status = path.stat()
        stamp = (status.st_ino, status.st_mtime_ns, status.st_size)
        known = _read.get(path)
        if known is None or known[0] != stamp:
            data = path.read_bytes() if status.st_size <= _MOST_BYTES else b""
            known = stamp, _decode(data)
    except OSError:  # not written yet, deleted, or not ours to read
        return None
    if len(_read) >= _KEPT:
        _read.clear()
    _read[path] = known
    return known[1]


def _decode(data: bytes) -> Finding | None:
    try:
        finding = msgspec.json.decode(data, type=Finding)
    except msgspec.DecodeError:
        return None
    # What was written when it became ready tells nothing of its end.
    return finding if finding.schema == _SCHEMA and finding.state in ENDED else None
