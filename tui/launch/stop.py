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
from tui.keeper.records import LaunchRecords, lock_within
from tui.keeper.run import Run, Target
from tui.keeper.stop import StopRequest
from tui.launch.records import Recorded, StopRecord, find_launch, read_launch
from tui.paths import Places

_STEP_S = 0.05
# A healthy keeper takes a request within a second; one that waits for a slow GPU driver may need some more.
_SILENCE_S = 30.0
# Beyond grace and release wait, a stop takes its kill rounds and the last look.
_MARGIN_S = 40.0


def stop_launch(places: Places, address: str, request: StopRequest) -> StopRecord:
    """Stop the launch at `NAME[/LAUNCH]`, wait until it is over, and report.

    Raises:
        SgltuiError: there is nothing to stop, it isn't ours to stop, or its keeper hangs.
    """
    recorded = find_launch(places, address)
    _check(recorded)
    if not _ask_keeper(recorded, request):
        _stand_in(recorded, request)
    return _report(recorded)


def _check(recorded: Recorded) -> None:
    if not recorded.is_local:
        raise RefusedError(
            f"{recorded.address} runs on {recorded.launch.machine.hostname}, not here",
            f"run `sgltui stop {recorded.launch.name}` there",
        )
    owner = recorded.files.directory.stat().st_uid
    if owner != os.geteuid():
        raise RefusedError(f"{recorded.address} belongs to the user with uid {owner}", "stop it as that user")
    if recorded.is_over and not recorded.is_running_here:
        raise RefusedError(f"{recorded.address} isn't running: it is {recorded.current_state()}", "see `sgltui ps`")


def _ask_keeper(recorded: Recorded, request: StopRequest) -> bool:
    """Leave a request and wait for the end; False when there is no keeper that could serve it."""
    keeper = recorded.state.keeper
    if keeper is None or not keeper.is_alive():
        return False
    asked = _post(recorded, request)
    limit_s = request.grace_s + request.release_wait_s + _MARGIN_S
    if not _until(lambda: not asked.exists() or not keeper.is_alive(), _SILENCE_S):
        asked.unlink(missing_ok=True)
        raise _no_answer(recorded, keeper)
    _until(lambda: _has_report(recorded) or not keeper.is_alive(), limit_s)
    if _has_report(recorded):
        return True
    if keeper.is_alive():
        raise SgltuiError(
            f"{recorded.address} hasn't ended after {limit_s:.0f} s; its keeper goes on",
            f"see `sgltui ps`, or `sgltui stop --kill {recorded.launch.name}`",
        )
    return False


def _post(recorded: Recorded, request: StopRequest) -> Path:
    try:
        return requests.post(recorded.files.requests, request)
    except OSError as error:
        raise SgltuiError(
            f"can't ask the keeper of {recorded.address} to stop it: {recorded.files.requests}: {error.strerror}",
            "free some space there, then stop again",
        ) from error


def _stand_in(recorded: Recorded, request: StopRequest) -> None:
    """Do what the dead keeper would have done; the lock makes sure that it is dead and that we are alone."""
    files = recorded.files
    lock = lock_within(request.grace_s + request.release_wait_s + _MARGIN_S, files.lock)
    if lock is None:
        raise SgltuiError(f"another process handles {recorded.address} and doesn't come to an end", "see `sgltui ps`")
    try:
        recorded = read_launch(files.directory)  # the other one may have done it
        if _has_report(recorded) and not recorded.living_members():
            return
        target = Target.from_record(json.loads(files.launch.read_bytes()))
        run = Run(LaunchRecords(files), target, recorded.state.server, is_parent=False)
        if recorded.exit is not None:
            ending.clean_up(run, request, lambda: requests.take(files.requests))
        else:
            ending.stop(run, request, lambda: requests.take(files.requests))
    finally:
        os.close(lock)


def _has_report(recorded: Recorded) -> bool:
    newest = read_launch(recorded.files.directory).exit
    return newest is not None and newest.stop is not None


def _report(recorded: Recorded) -> StopRecord:
    newest = read_launch(recorded.files.directory).exit
    if newest is None or newest.stop is None:
        raise SgltuiError(f"{recorded.address} ended without a report", f"see {recorded.files.directory}")
    return newest.stop


def _no_answer(recorded: Recorded, keeper: ProcessIdentity) -> SgltuiError:
    return SgltuiError(
        f"the keeper of {recorded.address} (pid {keeper.pid}) doesn't answer; is it stopped, or does its disk hang?",
        f"`kill -9 {keeper.pid}` doesn't harm the server; then stop again",
    )


def _until(condition: Callable[[], bool], limit_s: float) -> bool:
    """Poll for a condition; False when the time is over first."""
    deadline = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(_STEP_S)
    return True
