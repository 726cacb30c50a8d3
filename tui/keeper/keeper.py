"""The keeper's life: start the server or take it over, watch it until it ends or is to be stopped, write how."""

from __future__ import annotations

import os
import select
import time
from typing import Any

from tui.keeper import again, cgroup, ending, requests
from tui.keeper.explaining import explain_apart
from tui.keeper.gpu_memory import read_within
from tui.keeper.identity import ProcessIdentity, boot_id, read_stat
from tui.keeper.oom import find_counter
from tui.keeper.order import Order
from tui.keeper.progress import LOADING, SAYS_READY, LineWatch
from tui.keeper.readiness import Probe
from tui.keeper.records import LaunchRecords, utc_now
from tui.keeper.rotation import Rotator
from tui.keeper.run import Run, Target, describe_exit, recorded_server
from tui.keeper.spawn import Spawned, create_log, spawn
from tui.keeper.states import State
from tui.keeper.steps import step
from tui.keeper.stop import StopRequest

_STARTING_STEP_S = 0.25  # each look reads the machine's table of sockets, which can be long
_READY_STEP_S = 0.5
# How often the tree is walked: its schedulers have hundreds of threads. An exit of the server is noticed by signal.
_STARTING_WALK_S = 1.0
_READY_WALK_S = 5.0
_LOADING_SAMPLE_S = 10.0  # memory changes fast then, and many a start ends here
_SAMPLE_STEP_S = 60.0  # a reading costs some 50 ms of CPU
_MEMORY_LIMIT_S = 10.0
_ROTATION_LIMIT_S = 30.0  # killed in the middle it loses nothing either, but leaves bytes in two files


class Keeper:
    """Attends one launch to its last process.

    Args:
        wakeup: a descriptor that becomes readable when a child exits.
    """

    def __init__(self, records: LaunchRecords, target: Target, order: Order, wakeup: int) -> None:
        self._records = records
        self._target = target
        self._order = order
        self._wakeup = wakeup
        self._probe = Probe(target.host, target.port, order.api_key, tls=order.tls, has_ready=order.has_ready)
        self._walked_at = 0.0
        self._sampled_at = 0.0

    def attend(self) -> None:
        """The whole life. Returns when the launch is over and recorded."""
        run = self._start()
        if run is not None:
            self._watch(run)

    def take_over(self) -> None:
        """Go on where a dead keeper left off. Returns when the launch is over and recorded."""
        records = self._records
        run = Run(records, self._target, recorded_server(records), is_parent=False)
        if ending.is_unfinished(run):
            ending.finish(run, self._asked)
        else:
            self._watch(run)

    def _watch(self, run: Run) -> None:
        rotator = Rotator(self._records.files.log, self._target.log_limits)
        self._watch_to_its_end(run, rotator)
        self._tell(rotator.finish(_ROTATION_LIMIT_S))

    def _tell(self, news: list[dict[str, Any]]) -> None:
        for event in news:
            self._records.tell(event)

    def _watch_to_its_end(self, run: Run, rotator: Rotator) -> None:
        load, ready = (LineWatch(self._records.files.log, mark) for mark in (LOADING, SAYS_READY))
        while not run.server_is_gone():
            self._look(run, load, ready)
            self._tell(rotator.look())
            asked = self._asked()
            if asked is not None:
                step("keeper-asked")
                ending.stop(run, asked, self._asked)
                return
            self._sleep(run, _READY_STEP_S if self._records.state is State.READY else _STARTING_STEP_S)
        step("keeper-sees-end")
        ending.end_by_itself(run, self._asked)

    def _start(self) -> Run | None:
        records, target = self._records, self._target
        step("keeper-attends")
        reading = read_within(_MEMORY_LIMIT_S, target.simulated) if target.gpus else None
        counter = find_counter()
        place = cgroup.place_for(target.mark)
        records.note(
            gpu_used_at_start=reading.used_bytes if reading else None,
            oom_counter=counter and vars(counter),
            cgroup=place and str(place),  # before it is made, so that it is removed by whoever has to go on
        )
        log = create_log(records.files.log)
        spawned = spawn(self._order.argv, self._order.environment, self._order.cwd, log)
        os.close(log)
        if place is not None and not cgroup.enclose(place, spawned.pid):
            place = None
        step("keeper-spawned")
        server = _identity_of_child(spawned.pid)
        fields = {"server": server.as_json(), "members": [server.as_json()], "started_at": utc_now()}
        records.move(State.STARTING, cgroup=place and str(place), **fields)
        step("keeper-recorded")
        failure = self._let_go(spawned)
        if failure is not None:
            os.waitpid(spawned.pid, 0)
            if place is not None:
                cgroup.remove(place)
            cause = f"couldn't start {self._order.argv[0]}: {failure}"
            records.end(State.FAILED, cause=cause, unstarted=True, **describe_exit(None))
            return None
        step("keeper-started")
        return Run(records, target, server, is_parent=True)

    def _let_go(self, spawned: Spawned) -> str | None:
        """Only a server that is on record may run."""
        if self._records.flush():
            return spawned.go()
        spawned.give_up()
        return f"its records can't be written to {self._records.files.directory}: is the disk full, or read-only?"

    def _look(self, run: Run, load: LineWatch, ready: LineWatch) -> None:
        self._records.flush()
        state = self._records.state
        if state is State.READY:
            self._walk(run, _READY_WALK_S)
            self._sample(run, _SAMPLE_STEP_S)
            return
        self._walk(run, _STARTING_WALK_S)
        if state is State.STARTING and load.has_come():
            self._records.move(State.LOADING)
            step("keeper-loading")
        if state is State.LOADING:
            self._sample(run, _LOADING_SAMPLE_S)
        if self._probe.is_ready(run.members.alive(), hurry=ready.has_come()):
            self._walk(run, 0)
            self._sample(run, 0)
            self._records.move(State.READY, ready_at=utc_now())
            step("keeper-ready")
            explain_apart(self._records.files)  # what it measured, for the next plan

    def _walk(self, run: Run, every_s: float) -> None:
        now = time.monotonic()
        if now - self._walked_at >= every_s:
            self._walked_at = now
            run.members.refresh()
            run.record_members()

    def _sample(self, run: Run, every_s: float) -> None:
        if time.monotonic() - self._sampled_at >= every_s:
            run.sample_memory(_MEMORY_LIMIT_S)
            run.note_shared_memory()
            run.forget_old_kills()
            self._sampled_at = time.monotonic()  # a driver that takes its time isn't asked again at once

    def _asked(self) -> StopRequest | None:
        """What is asked. After the end it still means that the server isn't to be launched again."""
        files = self._records.files
        try:
            if files.exit.exists() and requests.are_waiting(files.requests):
                again.call_off(files)
            return requests.take(files.requests)
        except OSError:  # its disk is away: who asks sees that nobody takes it
            return None

    def _sleep(self, run: Run, seconds: float) -> None:
        """Until something happens: a child exits, or a server that isn't our child."""
        ready, _, _ = select.select([self._wakeup, *run.end_notices()], [], [], seconds)
        if self._wakeup in ready:
            os.read(self._wakeup, 4096)


def _identity_of_child(pid: int) -> ProcessIdentity:
    """Identity of a child that nobody has reaped yet: it has its entry in /proc even if it is dead already."""
    stat = read_stat(pid)
    if stat is None:
        raise ProcessLookupError(f"child {pid} isn't in /proc: is /proc mounted for this pid namespace?")
    return ProcessIdentity(pid, stat.start_ticks, pid, boot_id())
