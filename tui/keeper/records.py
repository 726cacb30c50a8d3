"""The records of one launch, as its keeper writes them. The layout is in `tui.keeper.files`."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import time
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from tui.atomic import write_atomic
from tui.keeper.files import LaunchFiles
from tui.keeper.states import State, check_transition
from tui.keeper.steps import step

SCHEMA = 1
# It may pass: a full disk, one that the kernel has made read-only after an error, a server of files that is away or
# whose ticket (Kerberos) has run out, a machine at the end of its memory or open files.
_NOT_NOW = frozenset(
    {
        *(errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.ESTALE, errno.ETIMEDOUT),
        *(errno.EACCES, errno.EKEYEXPIRED, errno.EKEYREVOKED, errno.EKEYREJECTED),
        *(errno.ENOMEM, errno.EMFILE, errno.ENFILE),
    }
)
_RETRY_S = 1.0
_LOCK_STEP_S = 0.05


def utc_now() -> str:
    """Now, as records and the command line write times: ISO 8601, UTC, whole milliseconds."""
    return format_utc(datetime.now(timezone.utc))


def format_utc(moment: datetime) -> str:
    """A moment in UTC, as records write it."""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def lock_within(limit_s: float, path: Path) -> int | None:
    """`try_lock`, again and again until the limit."""
    deadline = time.monotonic() + limit_s
    while True:
        fd = try_lock(path)
        if fd is not None or time.monotonic() > deadline:
            return fd
        time.sleep(_LOCK_STEP_S)


def try_lock(path: Path) -> int | None:
    """Become the one who acts for a launch: an open descriptor that holds the lock, or None when another does.

    The kernel lets go of it when the holder dies, however it dies.
    """
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        return None
    return fd


def is_locked(path: Path) -> bool:
    """Somebody acts for the launch just now."""
    fd = try_lock(path)
    if fd is not None:
        os.close(fd)
    return fd is None


class LaunchRecords:
    """The one writer of a launch's state; used by the keeper, or under the lock by who stands in for it.

    A disk that is full or can't be written ends neither the keeper nor its knowledge: what couldn't be written is kept,
    and written by a later `flush`.
    """

    def __init__(self, files: LaunchFiles) -> None:
        self.files = files
        self._fields: dict[str, Any] = {"schema": SCHEMA, "state": State.PENDING.value}
        self._unsaved = False
        self._written: tuple[int, int] | None = None  # inode and size of `state.json` as we left it
        self._unsaved_events: list[bytes] = []
        if files.state.exists():
            self._fields = json.loads(files.state.read_bytes())

    @property
    def state(self) -> State:
        """The state it is in."""
        return State(self._fields["state"])

    def read(self) -> dict[str, Any]:
        """All fields of `state.json`."""
        return dict(self._fields)

    def move(self, new: State, **fields: Any) -> None:
        """Go to another state: the one door for it.

        Raises:
            IllegalTransitionError: a bug; nothing is written.
        """
        old = self.state
        check_transition(old, new)
        event = {"at": utc_now(), "event": "state", "old": old.value, "new": new.value}
        self._unsaved_events.append(_encode(event))
        self.note(state=new.value, since=event["at"], **fields)

    def tell(self, event: dict[str, Any]) -> None:
        """Record what happened that is no change of state."""
        self._unsaved_events.append(_encode({"at": utc_now(), **event}))
        self.flush()

    def note(self, **fields: Any) -> None:
        """Replace fields of `state.json`, if that changes any."""
        if any(self._fields.get(name) != value for name, value in fields.items()):
            self._fields = {**self._fields, **fields}
            self._unsaved = True
        self.flush()

    def flush(self) -> bool:
        """Write what isn't on disk yet; False when that can't be done now."""
        try:
            while self._unsaved_events:  # first, so that who sees a state also finds how it came
                self._append(self._unsaved_events[0])
                del self._unsaved_events[0]
            if self._unsaved or self._was_damaged():
                write_atomic(self.files.state, _encode(self._fields))
                self._unsaved = False
                self._written = _inode_and_size(self.files.state)
        except OSError as error:
            if error.errno not in _NOT_NOW:
                raise
            return False
        return True

    def end(self, state: State, **fields: Any) -> None:
        """Write how it ended, then the last state: a reader that sees an ended state finds `exit.json`."""
        check_transition(self.state, state)
        self._write_exit({"schema": SCHEMA, "state": state.value, "at": utc_now(), **fields})
        step("keeper-ended")
        self.move(state)
        while not self.flush():
            time.sleep(_RETRY_S)

    def amend_end(self, **fields: Any) -> dict[str, Any]:
        """Add to `exit.json` what was found out after the end; all of it."""
        document = {**self._insist(lambda: json.loads(self.files.exit.read_bytes())), **fields}
        self._write_exit(document)
        return document

    def _was_damaged(self) -> bool:
        """Somebody has cut, replaced or removed what we wrote: a hand, a broken disk."""
        return self._written is not None and _inode_and_size(self.files.state) != self._written

    def _write_exit(self, document: dict[str, Any]) -> None:
        self._insist(lambda: write_atomic(self.files.exit, _encode(document)))

    @staticmethod
    def _insist(action: Callable[[], Any]) -> Any:
        """Until the disk lets it: there is nothing else to do any more, and an end that isn't on record is lost."""
        while True:
            try:
                return action()
            except OSError as error:
                if error.errno not in _NOT_NOW:
                    raise
            time.sleep(_RETRY_S)

    def _append(self, line: bytes) -> None:
        """An event, on a line of its own also behind one of which a full disk took a part only."""
        fd = os.open(self.files.events, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "ab") as file:
            end = file.seek(0, os.SEEK_END)
            is_whole = end == 0 or os.pread(fd, 1, end - 1) == b"\n"
            file.write(line if is_whole else b"\n" + line)


def _inode_and_size(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_size


def _encode(value: dict[str, Any]) -> bytes:
    return json.dumps(value).encode() + b"\n"
