"""Where the parts of a rotated log are: `server.log.segments`, JSON, beside `server.log`.

Offsets count the bytes that the server has written since its start. `server.log.0001.gz` and its followers hold those
below `archived`, `server.log` the others. Whoever reads both needs no lock: see `base_now`.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from tui.atomic import write_atomic
from tui.keeper.holes import is_hole

SCHEMA = 1


@dataclass(frozen=True)
class Segment:
    """A compressed part.

    Attributes:
        name: of its file, beside the log.
        start: offset of its first byte in all that was written.
        size: bytes of the log in it.
        packed: bytes of its file.
        at: when it was made, seconds since the epoch.
    """

    name: str
    start: int
    size: int
    packed: int
    at: float


@dataclass(frozen=True)
class Journal:
    """What is where.

    Attributes:
        base: offset that the first byte of the log file had when this was written.
        archived: bytes below are in segments, or were deleted with them.
        segments: those that are kept, oldest first.
        punching: the archived bytes are still in the log file too, all or in part.
        last_number: of the newest segment ever made.
        way: what the file system could do (`tui.keeper.holes`), or nothing as long as nobody has tried.
    """

    base: int = 0
    archived: int = 0
    segments: list[Segment] = field(default_factory=list)
    punching: bool = False
    last_number: int = 0
    way: str = ""

    @property
    def start(self) -> int:
        """Offset of the oldest byte that is kept."""
        return self.segments[0].start if self.segments else self.archived

    def with_segment(self, segment: Segment) -> Journal:
        """A further segment is on disk; what it holds is still in the log file."""
        end = segment.start + segment.size
        segments, number = [*self.segments, segment], self.last_number + 1
        return replace(self, archived=end, segments=segments, last_number=number, punching=True)


def base_now(journal: Journal, fd: int) -> int:
    """Offset of the first byte of the log file that is open as `fd`, now.

    Between "punched" and "collapsed" nobody could write down which of both it is at the very moment; the file itself
    tells: as long as its head is a hole, it wasn't collapsed. A head that is neither is what somebody wrote after the
    file was truncated.
    """
    archived = journal.archived - journal.base
    if not archived or (journal.punching and os.fstat(fd).st_size >= archived):
        return journal.base
    return journal.base if is_hole(fd, archived) else journal.archived


def journal_path(log: Path) -> Path:
    """The journal of a log."""
    return log.with_name(f"{log.name}.segments")


def segment_name(log: Path, number: int) -> str:
    """`server.log.0001.gz`."""
    return f"{log.name}.{number:04d}.gz"


def read_journal(log: Path) -> Journal:
    """The journal of a log; an empty one for a log that was never rotated.

    Raises:
        OSError, ValueError: it can't be read, or isn't ours.
    """
    try:
        document: dict[str, Any] = json.loads(journal_path(log).read_bytes())
    except FileNotFoundError:
        return Journal()
    try:
        document.pop("schema")
        segments = [Segment(**segment) for segment in document.pop("segments")]
        return Journal(segments=segments, **document)
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(str(error)) from error


def write_journal(log: Path, journal: Journal) -> None:
    """Replace the journal; it survives a power cut."""
    write_atomic(journal_path(log), json.dumps({"schema": SCHEMA, **asdict(journal)}).encode() + b"\n")
