"""The directory of one launch: made once, named by time and number, pointed at by `current`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import msgspec

from tui.atomic import point_symlink, write_atomic
from tui.errors import RefusedError
from tui.keeper.files import CURRENT, LAUNCH_LOCK, LaunchFiles
from tui.keeper.records import lock_within
from tui.launch.records import LaunchRecord, Recorded, list_launches, read_launch
from tui.paths import Places

_LOCK_LIMIT_S = 30.0  # a launch holds it until its keeper has taken over, a second at most


@contextmanager
def launching(places: Places) -> Iterator[int]:
    """One launch at a time is checked, recorded and handed over: two can't choose the same name, port or GPUs.

    The kernel lets go of the lock when its holder dies. Its descriptor is given, so that a keeper that is just taking
    over holds it too until it is on record: who has the lock knows that nobody is in the middle of a launch.

    Raises:
        RefusedError: another one holds the lock for too long.
    """
    lock = places.instances / LAUNCH_LOCK
    fd = lock_within(_LOCK_LIMIT_S, lock)
    if fd is None:
        raise RefusedError(f"another launch holds {lock} and doesn't go on", "see what it waits for, then try again")
    try:
        yield fd
    finally:
        os.close(fd)


def next_launch(places: Places, name: str) -> str:
    """`20261129T171001Z-0007`: sorts by time, then by a number that counts the launches of this name."""
    earlier = list_launches(places, name)
    number = int(earlier[-1].rpartition("-")[2]) + 1 if earlier else 1
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    # A clock set back must not make the new launch sort before the last one.
    if earlier and stamp < earlier[-1][: len(stamp)]:
        stamp = earlier[-1][: len(stamp)]
    return f"{stamp}-{number:04d}"


def create_launch(places: Places, record: LaunchRecord) -> LaunchFiles:
    """Make the directory with what was asked in it, then let `current` point there.

    Raises:
        RefusedError: it can't be written; nothing has been started.
    """
    try:
        document = msgspec.json.format(msgspec.json.encode(record)) + b"\n"
    except UnicodeEncodeError as error:
        raise RefusedError(f"{error.object!r} can't be recorded: it isn't UTF-8", "rename it") from error
    directory = places.instances / record.name / record.launch
    files = LaunchFiles(directory)
    try:
        directory.parent.mkdir(mode=0o700, exist_ok=True)
        directory.mkdir(mode=0o700)
        files.requests.mkdir(mode=0o700)
        write_atomic(files.launch, document)
        point_symlink(directory.parent / CURRENT, record.launch)
    except OSError as error:
        if not isinstance(error, FileExistsError):  # then it is another launch's
            files.discard()
        raise RefusedError(
            f"can't record the launch in {directory}: {error.strerror}",
            "free some space or fix the permissions; nothing was started",
        ) from error
    return files


def previous_launch(places: Places, recorded: Recorded) -> Recorded | None:
    """The launch of the same name before this one, or None; what was only half made, on a full disk, is none."""
    name = recorded.launch.name
    earlier = [places.instances / name / one for one in list_launches(places, name) if one < recorded.launch.launch]
    whole = [directory for directory in earlier if LaunchFiles(directory).launch.exists()]
    return read_launch(whole[-1]) if whole else None
