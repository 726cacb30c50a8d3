"""Stopping a launch: ask its keeper; where that is dead, do its work under its lock."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

from tui.errors import RefusedError, SgltuiError
from tui.keeper import ending, requests
from tui.keeper.identity import ProcessIdentity
from tui.keeper.records import LaunchRecords, try_lock
from tui.keeper.run import Run, Target
from tui.keeper.steps import step
from tui.keeper.stop import StopRequest
from tui.launch.ownership import check_ours
from tui.launch.records import Recorded, StopRecord, find_launch, read_launch
from tui.paths import Places

_STEP_S = 0.05
# A healthy keeper takes a request within a second. One that is silent for longer is looked at: it may be suspended, or
# wait for a slow GPU driver, which is given more time.
_SUSPICIOUS_S = 2.0
_SILENCE_S = 30.0
# Beyond grace and release wait, a stop takes its kill rounds and the last look.
_MARGIN_S = 40.0


def stop_launch(places: Places, address: str, request: StopRequest) -> StopRecord:
    """Stop the launch at `NAME[/LAUNCH]`, wait until it is over, and report.

    Raises:
        SgltuiError: there is nothing to stop, it isn't ours to stop, or its keeper hangs.
    """
    recorded = find_launch(places, address)
    check_ours(recorded, "stop")
    if recorded.is_over and not recorded.is_running_here:
        raise RefusedError(f"{recorded.address} isn't running: it is {recorded.current_state()}", "see `sgltui ps`")
    step("asker-asks")
    deadline = time.monotonic() + request.grace_s + request.release_wait_s + _MARGIN_S
    # Who attends it may change meanwhile: its keeper dies, another takes over, somebody else stands in.
    while not (_ask_keeper(recorded, request, deadline) or _stand_in(recorded, request)):
        if time.monotonic() > deadline:
            raise SgltuiError(
                f"another process handles {recorded.address} and doesn't come to an end", "see `sgltui ps`"
            )
        time.sleep(_STEP_S)
        recorded = read_launch(recorded.files.directory)
    return _report(recorded)


def _ask_keeper(recorded: Recorded, request: StopRequest, deadline: float) -> bool:
    """Leave a request and wait for the end; False when there is no keeper that could serve it."""
    keeper = recorded.state.keeper
    if keeper is None or not keeper.is_alive():
        return False
    asked = _post(recorded, request)
    _wait_until_taken(recorded, keeper, asked)
    _until(lambda: _has_report(recorded) or not keeper.is_alive(), deadline - time.monotonic())
    if _has_report(recorded):
        return True
    if keeper.is_alive():
        raise SgltuiError(
            f"{recorded.address} hasn't ended in time; its keeper goes on",
            f"see `sgltui ps`, or `sgltui stop --kill {recorded.launch.name}`",
        )
    return False


def _wait_until_taken(recorded: Recorded, keeper: ProcessIdentity, asked: Path) -> None:
    def is_taken() -> bool:
        return not asked.exists() or not keeper.is_alive()

    if _until(is_taken, _SUSPICIOUS_S) or (not keeper.is_suspended() and _until(is_taken, _SILENCE_S)):
        return
    asked.unlink(missing_ok=True)
    what = "is suspended" if keeper.is_suspended() else "doesn't answer; does its disk hang?"
    raise SgltuiError(
        f"the keeper of {recorded.address} (pid {keeper.pid}) {what}",
        f"`kill -CONT {keeper.pid}` lets it go on, `kill -KILL {keeper.pid}` doesn't harm the server; then stop again",
    )


def _post(recorded: Recorded, request: StopRequest) -> Path:
    try:
        return requests.post(recorded.files.requests, request)
    except OSError as error:
        raise SgltuiError(
            f"can't ask the keeper of {recorded.address} to stop it: {recorded.files.requests}: {error.strerror}",
            "free some space there, then stop again",
        ) from error


def _stand_in(recorded: Recorded, request: StopRequest) -> bool:
    """Do what the dead keeper would have done, if nobody else does: the lock makes sure that we are alone."""
    files = recorded.files
    lock = try_lock(files.lock)
    if lock is None:
        return False
    try:
        recorded = read_launch(files.directory)  # another one may have done it
        if _has_report(recorded) and not recorded.living_members():
            return True
        target = Target.from_record(json.loads(files.launch.read_bytes()))
        run = Run(LaunchRecords(files), target, recorded.state.server, is_parent=False)
        if recorded.exit is not None:
            ending.clean_up(run, request, lambda: requests.take(files.requests))
        else:
            ending.stop(run, request, lambda: requests.take(files.requests))
    finally:
        os.close(lock)
    return True


def _has_report(recorded: Recorded) -> bool:
    newest = read_launch(recorded.files.directory).exit
    return newest is not None and newest.stop is not None


def _report(recorded: Recorded) -> StopRecord:
    newest = read_launch(recorded.files.directory).exit
    if newest is None or newest.stop is None:
        raise SgltuiError(f"{recorded.address} ended without a report", f"see {recorded.files.directory}")
    return newest.stop


def _until(condition: Callable[[], bool], limit_s: float) -> bool:
    """Poll for a condition; False when the time is over first."""
    deadline = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(_STEP_S)
    return True
