"""Launching a failed server again, as its preset asks: when, how often, and when there is no point in it."""

from __future__ import annotations

import json
import os
import re
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tui.atomic import point_symlink, write_atomic
from tui.keeper.files import CURRENT, LAUNCH_LOCK, LaunchFiles
from tui.keeper.keeper import Order
from tui.keeper.members import MARK_VARIABLE
from tui.keeper.records import LaunchRecords, lock_within, try_lock, utc_now
from tui.keeper.states import State

_LOCK_LIMIT_S = 30.0
_LONGEST_PAUSE_S = 300.0
_STEP_S = 0.2
_TAIL_BYTES = 1 << 20

# Lines of SGLang (0.5.6.post2 to 0.5.23) and of what it calls, after which the same command must fail again.
_RECURRING = (
    (rb"error: (?:unrecognized arguments|argument |the following arguments are required)", "its arguments are wrong"),
    (rb"Not enough memory\. Please try to increase --mem-fraction-static", "its memory budget doesn't work out"),
    (rb"Loaded weights leave no GPU memory|Not enough GPU memory for hybrid", "its memory budget doesn't work out"),
    # As an exception's own line: healthy starts warn of files that they can do without in the same words.
    (rb"^OSError: .{0,400}(?:is not a local folder|is not a valid model identifier)", "its model isn't there"),
    (rb"^OSError: .{0,400}(?:couldn't connect to|does not appear to have a file named)", "its model isn't there"),
    (rb"^OSError: (?:We couldn't connect to|Can't load the configuration of)", "its model isn't there"),
    (rb"Model architectures .{0,400} are not supported", "its model's architecture isn't supported"),
    (rb"Transformers does not recognize this architecture", "its model's architecture isn't supported"),
    (rb"No accelerator \(CUDA", "there is no GPU that it can use"),
)


@dataclass(frozen=True)
class Restart:
    """Whether to go on.

    Attributes:
        pause_s: how long to wait before the next attempt; None: there is none.
        words: what is put on record of it; None when no restart was ever asked for.
    """

    pause_s: float | None
    words: str | None


def decide(record: dict[str, Any], ended: dict[str, Any], log: Path) -> Restart:
    """From `launch.json`, `exit.json` and the log."""
    policy = record.get("restart")
    if policy is None or ended["state"] != State.FAILED.value or ended.get("asked") or ended.get("restart"):
        return Restart(None, None)
    why = "its command can't be run" if ended.get("unstarted") else recurring(log)
    if why is not None:
        return Restart(None, f"not restarted, since it would fail again: {why}")
    attempt = record.get("attempt", 1)
    if attempt > policy["limit"]:
        return Restart(None, f"not restarted any more after {policy['limit']} restarts")
    pause_s = min(policy["backoff_s"] * 2 ** (attempt - 1), _LONGEST_PAUSE_S)
    return Restart(pause_s, f"restart {attempt} of {policy['limit']} in {pause_s:g} s")


def recurring(log: Path) -> str | None:
    """Why the same command must fail again, by the end of its log; None when it may well not."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, file.seek(0, 2) - _TAIL_BYTES))
            text = file.read()
    except FileNotFoundError:
        return None
    return next((why for pattern, why in _RECURRING if re.search(pattern, text, re.MULTILINE)), None)


def next_attempt(
    files: LaunchFiles, order: Order, is_called_off: Callable[[], bool]
) -> tuple[LaunchFiles, Order] | None:
    """The next launch of the same server, after its pause; None when there is to be none.

    Args:
        files: of the launch that has ended.
        order: what it was started with.
        is_called_off: somebody asks for a stop.
    """
    record = json.loads(files.launch.read_bytes())
    records = LaunchRecords(files)
    decision = decide(record, json.loads(files.exit.read_bytes()), files.log)
    if decision.pause_s is not None and not order.environment:
        decision = Restart(None, "not restarted: its environment was lost with its first keeper")
    if decision.words is None:
        return None
    records.amend_end(restart=decision.words)
    if decision.pause_s is None:
        return None
    if not _pause(decision.pause_s, is_called_off):
        records.amend_end(restart="not restarted: it was stopped")
        return None
    return _create(files, record, order)


def _pause(seconds: float, is_called_off: Callable[[], bool]) -> bool:
    """Wait; False when it is called off meanwhile."""
    deadline = time.monotonic() + seconds
    while not is_called_off():
        if time.monotonic() >= deadline:
            return True
        time.sleep(min(_STEP_S, seconds))
    return False


def _create(files: LaunchFiles, record: dict[str, Any], order: Order) -> tuple[LaunchFiles, Order] | None:
    """Record the next launch, unless the name has been launched otherwise meanwhile."""
    home = files.directory.parent
    lock = lock_within(_LOCK_LIMIT_S, home.parent / LAUNCH_LOCK)
    try:
        if lock is None or os.readlink(home / CURRENT) != files.directory.name:  # noqa: PTH115 - the bare name
            return None
        made = LaunchFiles(home / _next_name(files.directory.name))
        made.directory.mkdir(mode=0o700)
        made.requests.mkdir(mode=0o700)
        mark = uuid.uuid4().hex
        again = {
            **record,
            "launch": made.directory.name,
            "created_at": utc_now(),
            "mark": mark,
            "attempt": record.get("attempt", 1) + 1,
        }
        write_atomic(made.launch, json.dumps(again, indent=1).encode() + b"\n")
        point_symlink(home / CURRENT, made.directory.name)
        if try_lock(made.lock) is None:  # held till the end of this process
            return None
    except OSError as error:
        LaunchRecords(files).amend_end(restart=f"not restarted: {error.strerror}: {error.filename}")
        return None
    finally:
        if lock is not None:
            os.close(lock)
    return made, replace(order, environment={**order.environment, MARK_VARIABLE: mark})


def _next_name(name: str) -> str:
    """A later time, or the same if the clock was set back, and the next number."""
    stamp, _, number = name.rpartition("-")
    return f"{max(time.strftime('%Y%m%dT%H%M%SZ', time.gmtime()), stamp)}-{int(number) + 1:04d}"
