"""The keeper's life: start the server, watch it until it ends or is to be stopped, write how it ended."""

from __future__ import annotations

import os
import select
import time
from dataclasses import dataclass

from tui.keeper import readiness, requests
from tui.keeper.gpu_memory import read_gpu_memory
from tui.keeper.identity import ProcessIdentity, boot_id, read_stat
from tui.keeper.progress import LoadWatch
from tui.keeper.records import LaunchRecords, utc_now
from tui.keeper.run import Run, Target, describe_exit
from tui.keeper.spawn import create_log, spawn
from tui.keeper.states import ENDED, State
from tui.keeper.stop import Stopper, StopRequest

_STARTING_STEP_S = 0.1
_READY_STEP_S = 0.5
_WALK_STEP_S = 5.0  # how often a healthy tree is walked; an exit of the server is noticed by signal, at once


@dataclass(frozen=True)
class Order:
    """What the launcher hands over through a pipe: it may hold secrets, and is never written down.

    Attributes:
        argv: the server's command line.
        environment: its whole environment.
        cwd: its working directory.
        api_key: what readiness probes must present, if the server asks for a key.
    """

    argv: list[str]
    environment: dict[str, str]
    cwd: str
    api_key: str | None


class Keeper:
    """Attends one launch from its first process to its last.

    Args:
        wakeup: a descriptor that becomes readable when a child exits.
    """

    def __init__(self, records: LaunchRecords, target: Target, order: Order, wakeup: int) -> None:
        self._records = records
        self._files = records.files
        self._target = target
        self._order = order
        self._wakeup = wakeup
        self._walked_at = 0.0

    def attend(self) -> None:
        """The whole life. Returns when the launch is over and recorded."""
        run = self._start()
        if run is None:
            return
        load = LoadWatch(self._files.log)
        while not run.server_is_gone():
            self._look(run, load)
            asked = requests.take(self._files.requests)
            if asked is not None:
                stop(run, asked)
                return
            self._sleep(_READY_STEP_S if run.records.state is State.READY else _STARTING_STEP_S)
        self._record_end(run)

    def _start(self) -> Run | None:
        records = self._records
        reading = read_gpu_memory(self._target.simulated) if self._target.gpus else None
        records.note(gpu_used_at_start=reading.used_bytes if reading else None)
        log = create_log(self._files.log)
        try:
            process = spawn(self._order.argv, self._order.environment, self._order.cwd, log)
        except OSError as error:
            cause = f"couldn't start {self._order.argv[0]}: {error.strerror}"
            records.end(State.FAILED, cause=cause, **describe_exit(None))
            return None
        finally:
            os.close(log)
        server = _identity_of_child(process.pid)
        # `Run.reap` collects it together with adopted orphans; Popen must not wait for it as well.
        process.returncode = 0
        fields = {"server": server.as_json(), "members": [server.as_json()], "started_at": utc_now()}
        records.move(State.STARTING, **fields)
        return Run(self._files, self._target, server, is_parent=True)

    def _look(self, run: Run, load: LoadWatch) -> None:
        run.records.flush()
        state = run.records.state
        if state is State.READY:
            self._walk(run, _WALK_STEP_S)
            return
        self._walk(run, _STARTING_STEP_S)
        if state is State.STARTING and load.is_loading():
            run.records.move(State.LOADING)
        if self._is_ready(run):
            self._walk(run, 0)
            run.records.move(State.READY, ready_at=utc_now())

    def _is_ready(self, run: Run) -> bool:
        host, port = self._target.host, self._target.port
        return readiness.owns_port(run.members.alive(), port) and readiness.answers(host, port, self._order.api_key)

    def _walk(self, run: Run, every_s: float) -> None:
        now = time.monotonic()
        if now - self._walked_at >= every_s:
            self._walked_at = now
            run.members.refresh()
            run.record_members()

    def _record_end(self, run: Run) -> None:
        """It ended by itself: say so at once, then see that nothing of it is left behind."""
        exit_fields = describe_exit(run.exit_status)
        was_ready = run.records.state is State.READY
        state = State.EXITED if was_ready and exit_fields["returncode"] == 0 else State.FAILED
        run.records.end(state, asked=False, was_ready=was_ready, **exit_fields)
        run.records.amend_end(stop=Stopper(run, StopRequest(grace_s=0)).stop())

    def _sleep(self, seconds: float) -> None:
        ready, _, _ = select.select([self._wakeup], [], [], seconds)
        if ready:
            os.read(self._wakeup, 4096)


def stop(run: Run, request: StopRequest) -> None:
    """Stop a launch and record how it ended; for a keeper, and for who stands in for a dead one."""

    def heed() -> None:
        further = requests.take(run.files.requests)
        if further is not None and further.kill:
            request.kill = True

    before = run.records.state
    if before not in ENDED and before is not State.STOPPING:
        run.records.move(State.STOPPING)
    report = Stopper(run, request, heed).stop()
    run.reap()
    if before in ENDED:  # its keeper died after it had written the end, and before it had cleaned up
        run.records.amend_end(stop=report)
    else:
        fields = {"asked": True, "was_ready": before is State.READY, "stop": report}
        run.records.end(State.STOPPED, **fields, **describe_exit(run.exit_status))


def _identity_of_child(pid: int) -> ProcessIdentity:
    """Identity of a child that nobody has reaped yet: it has its entry in /proc even if it is dead already."""
    stat = read_stat(pid)
    if stat is None:
        raise ProcessLookupError(f"child {pid} isn't in /proc: is /proc mounted for this pid namespace?")
    return ProcessIdentity(pid, stat.start_ticks, pid, boot_id())
