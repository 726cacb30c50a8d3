"""Stopping a launch: ask its keeper; where that is dead, do its work under its lock."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

from tui.errors import RefusedError, SgltuiError
from tui.keeper import again, ending, requests
from tui.keeper.identity import ProcessIdentity
from tui.keeper.records import LaunchRecords, try_lock
from tui.keeper.run import Run, Target
from tui.keeper.steps import step
from tui.keeper.stop import StopRequest
from tui.launch.ownership import check_ours
from tui.launch.records import Recorded, StopRecord, find_launch, read_launch, read_newest
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
    _check_running(places, recorded)
    step("asker-asks")
    deadline = time.monotonic() + request.grace_s + request.release_wait_s + _MARGIN_S
    # Who attends it may change meanwhile: its keeper dies, another takes over, somebody else stands in.
    while not (_ask_keeper(places, recorded, request, deadline) or _stand_in(recorded, request)):
        if time.monotonic() > deadline:
            raise SgltuiError(
                f"another process handles {recorded.address} and doesn't come to an end", "see `sgltui ps`"
            )
        time.sleep(_STEP_S)
        recorded = _successor(places, recorded) or read_launch(recorded.files.directory)
    return _report(recorded)


def _check_running(places: Places, recorded: Recorded) -> None:
    if _successor(places, recorded) is not None:
        raise RefusedError(
            f"{recorded.address} isn't running: it is {recorded.current_state()}, and was launched again",
            f"`sgltui stop {recorded.launch.name}` stops its newest launch",
        )
    if recorded.is_over and not recorded.is_running_here and not recorded.awaits_restart:
        raise RefusedError(f"{recorded.address} isn't running: it is {recorded.current_state()}", "see `sgltui ps`")


def _ask_keeper(places: Places, recorded: Recorded, request: StopRequest, deadline: float) -> bool:
    """Leave a request and wait for the end; False when there is no keeper that could serve it."""
    keeper = recorded.state.keeper
    if keeper is None or not keeper.is_alive():
        return False
    asked = _post(recorded, request)
    if not _is_taken(places, recorded, keeper, asked):
        return False
    _until(lambda: _has_report(recorded) or not keeper.is_alive(), deadline - time.monotonic())
    if _has_report(recorded):
        return True
    if keeper.is_alive():
        raise SgltuiError(
            f"{recorded.address} hasn't ended in time; its keeper goes on",
            f"see `sgltui ps`, or `sgltui stop --kill {recorded.launch.name}`",
        )
    return False


def _is_taken(places: Places, recorded: Recorded, keeper: ProcessIdentity, asked: Path) -> bool:
    """Wait until the keeper takes the request; False when it won't any more: it is dead, or at the next launch."""

    def is_decided() -> bool:
        return not asked.exists() or not keeper.is_alive() or _successor(places, recorded) is not None

    if _until(is_decided, _SUSPICIOUS_S) or (not keeper.is_suspended() and _until(is_decided, _SILENCE_S)):
        return not _withdraw(asked)
    _withdraw(asked)
    what = "is suspended" if keeper.is_suspended() else "doesn't answer; does its disk hang?"
    raise SgltuiError(
        f"the keeper of {recorded.address} (pid {keeper.pid}) {what}",
        f"`kill -CONT {keeper.pid}` lets it go on, `kill -KILL {keeper.pid}` doesn't harm the server; then stop again",
    )


def _successor(places: Places, recorded: Recorded) -> Recorded | None:
    """The launch by which its keeper has launched it again: there the keeper looks for requests now."""
    newest = read_newest(places, recorded.launch.name)
    if newest is None or newest.address == recorded.address or newest.state.keeper is None:
        return None
    return newest if newest.state.keeper == recorded.state.keeper else None


def _withdraw(asked: Path) -> bool:
    """Whether it was still there: then nobody has taken it, and nobody will."""
    try:
        asked.unlink()
    except FileNotFoundError:
        return False
    return True


def _post(recorded: Recorded, request: StopRequest) -> Path:
    try:
        return requests.post(recorded.files.requests, request)
    except OSError as error:
        raise SgltuiError(
            f"can't ask the keeper of {recorded.address} to stop it: {recorded.files.requests}: {error.strerror}",
            "make room there, or make it writable, then stop again",
        ) from error


def _stand_in(recorded: Recorded, request: StopRequest) -> bool:
    """Do what the dead keeper would have done, if nobody else does: the lock makes sure that we are alone."""
    files = recorded.files
    lock = try_lock(files.lock)
    if lock is None:
        return False
    try:
        recorded = read_launch(files.directory)  # another one may have done it
        if recorded.exit is not None:
            again.call_off(files)
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
