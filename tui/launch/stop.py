"""Stopping a launch: ask its keeper; where that is dead, do its work under its lock."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tui.errors import RefusedError, SgltuiError
from tui.keeper import requests
from tui.keeper.identity import ProcessIdentity
from tui.keeper.keeper import stop as stop_run
from tui.keeper.records import try_lock
from tui.keeper.run import Run, Target
from tui.keeper.states import State
from tui.keeper.stop import StopRequest
from tui.launch.records import ExitRecord, Recorded, find_launch, read_launch
from tui.paths import Places
from tui.units import GIB

_STEP_S = 0.05
_SILENCE_S = 2.0  # a keeper that hasn't taken a request by then is taken for dead
_HUNG_LIMIT_S = 15.0
# Beyond grace and release wait, a stop takes its kill rounds and the last look.
_MARGIN_S = 30.0


@dataclass(frozen=True, slots=True)
class StopReport:
    """What a stop has achieved; the fields of the `stop` contract."""

    name: str
    stopped: tuple[int, ...]
    survivors: tuple[int, ...]
    memory_before_gib: float | None
    memory_after_gib: float | None
    released: bool | None
    seconds: float
    port_free: bool
    shm_left: tuple[str, ...]

    @property
    def is_clean(self) -> bool:
        """Nobody survived and the memory didn't stay away; where nobody can tell, the doubt doesn't count."""
        return not self.survivors and self.released is not False

    @property
    def freed_bytes(self) -> int | None:
        """How much less is in use on its GPUs than before."""
        if self.memory_before_gib is None or self.memory_after_gib is None:
            return None
        return int((self.memory_before_gib - self.memory_after_gib) * GIB)


def stop_launch(places: Places, address: str, request: StopRequest) -> StopReport:
    """Stop the launch at `NAME[/LAUNCH]` and wait until it is over.

    Raises:
        SgltuiError: there is nothing to stop, it isn't ours to stop, or its keeper hangs.
    """
    recorded = find_launch(places, address)
    _check(recorded)
    if not _ask_keeper(recorded, request):
        _stand_in(recorded, request)
    return _report(read_launch(recorded.files.directory))


def _check(recorded: Recorded) -> None:
    if not recorded.is_local:
        raise RefusedError(
            f"{recorded.address} runs on {recorded.launch.machine.hostname}, not here",
            f"run `sgltui stop {recorded.launch.name}` there",
        )
    if recorded.is_over and not recorded.living_members():
        raise RefusedError(f"{recorded.address} isn't running: it is {recorded.current_state()}", "see `sgltui ps`")


def _ask_keeper(recorded: Recorded, request: StopRequest) -> bool:
    """Leave a request and wait for the end; False when there is no keeper that could serve it."""
    keeper = recorded.state.keeper
    if keeper is None or not keeper.is_alive():
        return False
    asked = _post(recorded, request)
    patience = _HUNG_LIMIT_S if _is_stopping(recorded) else _SILENCE_S
    if not _until(lambda: not asked.exists() or not keeper.is_alive(), patience):
        asked.unlink(missing_ok=True)
        if keeper.is_alive():
            raise _hung(recorded, keeper)
    limit_s = request.grace_s + request.release_wait_s + _MARGIN_S
    _until(lambda: recorded.files.exit.exists() or not keeper.is_alive(), limit_s)
    if recorded.files.exit.exists():
        return True
    if keeper.is_alive():
        raise _hung(recorded, keeper)
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
    lock = try_lock(recorded.files.lock)
    if lock is None:
        raise RefusedError(
            f"{recorded.address} is being handled by another process", "wait a moment and look at `sgltui ps`"
        )
    try:
        recorded = read_launch(recorded.files.directory)
        if recorded.exit is not None and recorded.exit.stop is not None:
            return
        if recorded.state.server is None:
            raise RefusedError(f"{recorded.address} has never started a server", "there is nothing to stop")
        stop_run(_take_over(recorded, recorded.state.server), request)
    finally:
        os.close(lock)


def _take_over(recorded: Recorded, server: ProcessIdentity) -> Run:
    launch = recorded.launch
    target = Target(
        mark=launch.mark,
        host=launch.host,
        port=launch.port,
        gpus=[gpu.uuid for gpu in launch.gpus],
        simulated=Path(launch.simulated) if launch.simulated else None,
    )
    return Run(recorded.files, target, server, is_parent=False)


def _report(recorded: Recorded) -> StopReport:
    ended: ExitRecord | None = recorded.exit
    if ended is None or ended.stop is None:
        raise SgltuiError(
            f"{recorded.address} ended without a report", f"see {recorded.files.directory} and `sgltui ps`"
        )
    report = ended.stop
    return StopReport(
        name=recorded.launch.name,
        stopped=tuple(report["stopped"]),
        survivors=tuple(report["survivors"]),
        memory_before_gib=report["memory_before_gib"],
        memory_after_gib=report["memory_after_gib"],
        released=report["released"],
        seconds=report["seconds"],
        port_free=report["port_free"],
        shm_left=tuple(report["shm_left"]),
    )


def _is_stopping(recorded: Recorded) -> bool:
    return recorded.state.state is State.STOPPING


def _hung(recorded: Recorded, keeper: ProcessIdentity) -> SgltuiError:
    return SgltuiError(
        f"the keeper of {recorded.address} (pid {keeper.pid}) doesn't answer",
        f"if it is stuck, `kill -9 {keeper.pid}` harms nothing; then stop again",
    )


def _until(condition: Callable[[], bool], limit_s: float) -> bool:
    """Poll for a condition; False when the time is over first."""
    deadline = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(_STEP_S)
    return True
