"""Launching a failed server again: the promise of it, the pause, and the next launch.

The promise stands in `exit.json` with its time before the pause begins, so that a new keeper can keep it when this one
dies. It ends when `current` points at the next launch, or by being called off on record.
"""

from __future__ import annotations

import json
import os
import time
import uuid
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any

from tui.atomic import point_symlink, write_atomic
from tui.keeper import requests
from tui.keeper.files import CURRENT, LAUNCH_LOCK, LaunchFiles
from tui.keeper.members import MARK_VARIABLE
from tui.keeper.order import Order
from tui.keeper.records import LaunchRecords, format_utc, lock_within, try_lock, utc_now
from tui.keeper.restart_policy import LONGEST_PAUSE_S, decide
from tui.keeper.run import own_identity
from tui.keeper.states import State
from tui.keeper.steps import step

_LOCK_LIMIT_S = 30.0
_STEP_S = 0.2
# Who opens the UI days later doesn't expect a server to start by itself.
_LATEST_S = 3600.0


def next_attempt(files: LaunchFiles, order: Order) -> tuple[LaunchFiles, Order] | None:
    """The next launch of the same server, at its time; None when there is to be none.

    Args:
        files: of the launch that has ended.
        order: what it was started with.
    """
    record = json.loads(files.launch.read_bytes())
    due = _promise(files, record, order)
    if due is None or not _wait(files, due):
        return None
    try:
        return _create(files, record, order)
    except OSError as error:
        _amend(files, f"not restarted: {error.strerror}: {error.filename or files.directory.parent}")
        return None


def call_off(files: LaunchFiles) -> None:
    """Somebody asks for a stop of what has failed already: put on record that it isn't launched again."""
    ended = json.loads(files.exit.read_bytes())
    is_open = ended.get("restart_at") is not None or not ended.get("restart")
    if is_open and ended["state"] == State.FAILED.value and json.loads(files.launch.read_bytes()).get("restart"):
        _amend(files, "not restarted: it was stopped")


def is_unbegun(records: LaunchRecords, order: Order) -> bool:
    """A restart whose keeper died before it made anything: to be started now, since nobody has called it off."""
    files, record = records.files, json.loads(records.files.launch.read_bytes())
    return (
        record.get("attempt", 1) > 1
        and records.state is State.PENDING
        and not files.log.exists()
        and not requests.are_waiting(files.requests)
        and order.lacks is None
        and not _is_too_late(_moment(record["created_at"]))
    )


def _promise(files: LaunchFiles, record: dict[str, Any], order: Order) -> datetime | None:
    """When it is to be launched again, as an earlier keeper has promised, or as is decided and put on record now."""
    ended = json.loads(files.exit.read_bytes())
    if ended.get("restart_at") is not None:
        due, words = _moment(ended["restart_at"]), ended["restart"]
    else:
        decision = decide(record, ended, files.log)
        if decision.pause_s is None:
            if decision.words is not None:
                _amend(files, decision.words)
            return None
        due, words = datetime.now(timezone.utc) + timedelta(seconds=decision.pause_s), decision.words
    hindrance = _hindrance(due, order)
    if hindrance is not None:
        _amend(files, f"not restarted: {hindrance}")
        return None
    _amend(files, words, due)
    return due


def _hindrance(due: datetime, order: Order) -> str | None:
    """Why what is promised can't be kept."""
    if order.lacks is not None:
        return order.lacks
    if not order.environment:
        return "its environment was lost with its first keeper"
    return "nobody attended it when its time came" if _is_too_late(due) else None


def _amend(files: LaunchFiles, words: str, due: datetime | None = None) -> None:
    LaunchRecords(files).amend_end(restart=words, restart_at=None if due is None else format_utc(due))


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))  # Python 3.9 doesn't read the Z


def _is_too_late(due: datetime) -> bool:
    return (datetime.now(timezone.utc) - due).total_seconds() > _LATEST_S


def _wait(files: LaunchFiles, due: datetime) -> bool:
    """Until it is due; False when it is called off meanwhile. A clock that jumps makes it no longer than a pause."""
    step("keeper-pauses")
    left_s = (due - datetime.now(timezone.utc)).total_seconds()
    deadline = time.monotonic() + min(left_s, LONGEST_PAUSE_S)
    while not _is_called_off(files):
        left_s = deadline - time.monotonic()
        if left_s <= 0:
            return True
        time.sleep(min(_STEP_S, left_s))
    return False


def _is_called_off(files: LaunchFiles) -> bool:
    """Somebody asks for a stop. It is on record before it is taken: who asks may rely on it then."""
    if not requests.are_waiting(files.requests):
        return False
    call_off(files)
    requests.take(files.requests)
    return True


def _create(files: LaunchFiles, record: dict[str, Any], order: Order) -> tuple[LaunchFiles, Order] | None:
    """Record the next launch, unless the name has been launched otherwise meanwhile, or a stop is asked."""
    home = files.directory.parent
    lock = lock_within(_LOCK_LIMIT_S, home.parent / LAUNCH_LOCK)
    if lock is None:
        _amend(files, f"not restarted: another launch holds {home.parent / LAUNCH_LOCK}")
        return None
    try:
        if os.readlink(home / CURRENT) != files.directory.name or _is_called_off(files):  # noqa: PTH115 - the bare name
            return None
        mark = uuid.uuid4().hex
        made = _record(files, {**record, "mark": mark, "attempt": record.get("attempt", 1) + 1})
        step("keeper-restarts")
    finally:
        os.close(lock)
    return made, replace(order, environment={**order.environment, MARK_VARIABLE: mark})


def _record(files: LaunchFiles, record: dict[str, Any]) -> LaunchFiles:
    """Make its directory; it is attended before anybody sees it."""
    home = files.directory.parent
    made = LaunchFiles(home / _next_name(files))
    made.directory.mkdir(mode=0o700)
    try:
        made.requests.mkdir(mode=0o700)
        again = {**record, "launch": made.directory.name, "created_at": utc_now()}
        write_atomic(made.launch, json.dumps(again, indent=1).encode() + b"\n")
        try_lock(made.lock)  # held till the end of this process
        LaunchRecords(made).note(keeper=own_identity())
        point_symlink(home / CURRENT, made.directory.name)
    except OSError:
        made.discard()
        raise
    return made


def _next_name(files: LaunchFiles) -> str:
    """A later time, or the same if the clock was set back, and the next number."""
    newest = max(path.name for path in files.directory.parent.iterdir() if path.name[0].isdigit())
    stamp, _, number = newest.rpartition("-")
    return f"{max(time.strftime('%Y%m%dT%H%M%SZ', time.gmtime()), stamp)}-{int(number) + 1:04d}"
