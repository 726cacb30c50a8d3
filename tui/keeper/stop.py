"""Ending a launch: TERM, patience, KILL, look again, then prove that memory, port and shared memory are back."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tui.keeper import locks
from tui.keeper.evidence import DrainWatch
from tui.keeper.gpu_memory import GpuMemoryReading
from tui.keeper.identity import ProcessIdentity, send_signal
from tui.keeper.listeners import listeners
from tui.keeper.readiness import owns_port
from tui.keeper.records import utc_now
from tui.keeper.release import Release, describe_holders
from tui.keeper.run import Run
from tui.keeper.steps import step

_STEP_S = 0.05
_WALK_STEP_S = 1.0
_RELEASE_STEP_S = 0.5
# After the main process is gone its children get this long to notice it (PDEATHSIG, broken pipes).
_ORPHAN_PATIENCE_S = 2.0
_KILL_LIMIT_S = 10.0
_ROUND_S = 1.0
_KILL_STEP_S = 0.005
_QUIET_LOOKS = 2
# A driver that doesn't answer must not keep a server alive: then nobody can tell what it held.
_BEFORE_LIMIT_S = 3.0
_AFTER_LIMIT_S = 10.0


@dataclass(frozen=True)
class StopRequest:
    """How to stop.

    Attributes:
        grace_s: how long SGLang may drain after TERM before it is killed.
        release_wait_s: how long to watch for memory and port to come back.
        kill: no TERM and no patience.
    """

    grace_s: float = 30.0
    release_wait_s: float = 60.0
    kill: bool = False

    def hurried(self, other: StopRequest | None) -> StopRequest:
        """The more impatient of two requests, in each respect."""
        if other is None:
            return self
        return StopRequest(
            min(self.grace_s, other.grace_s),
            min(self.release_wait_s, other.release_wait_s),
            self.kill or other.kill,
        )


class Stopper:
    """One stop, from the first signal to the report.

    Args:
        run: the launch to end.
        request: how.
        further: gives what has been asked meanwhile; asked at every step.
    """

    def __init__(
        self, run: Run, request: StopRequest, further: Callable[[], StopRequest | None] = lambda: None
    ) -> None:
        self.run = run
        self._request = request
        self._further = further
        self._started = time.monotonic()
        self._walked_at = 0.0
        self._ended: set[int] = set()
        self._killed: set[int] = set()

    def stop(self) -> dict[str, Any]:
        """End every member and watch what comes back.

        Returns:
            The report of the `stop` contract, less the name.
        """
        run, port = self.run, self.run.target.port
        run.members.scan()
        members = self._living()
        before = run.read_held(_BEFORE_LIMIT_S)
        shm = run.shared_memory()
        build_locks = locks.held(members) | locks.named(run.records.files.log)
        had_port = owns_port(members, port)
        self._drain()
        survivors = self._kill_all()
        run.remove_cgroup()
        release = Release(run.target.gpus, before, run.baseline(), run.members.ever)
        after = self._watch(release, survivors, had_port=had_port)
        released = False if survivors and run.target.gpus else release.check(after)
        return {
            "stopped": sorted(self._ended - set(survivors)),
            "survivors": survivors,
            "killed": sorted(self._killed),
            "memory_before_gib": release.held_gib(before),
            "memory_after_gib": release.held_gib(after),
            "released": released,
            "seconds": round(time.monotonic() - self._started, 1),
            "port_free": not had_port or not listeners(port),
            "shm_left": sorted(str(path) for path in shm if path.exists()),
            "locks_left": locks.stale(build_locks),
            "holders": [] if released is not False else describe_holders(release, after),
        }

    def _drain(self) -> None:
        """TERM to the main process, and time for SGLang to finish its requests."""
        server = self.run.server
        watch = DrainWatch(self.run.records.files.log)  # before the signal: what it makes SGLang say is news
        if server is None or self._request.kill or not _signal(server, signal.SIGTERM):
            return
        self._tell("draining")
        step("keeper-drains")

        def is_over() -> bool:
            self._tell_remaining(watch.remaining())
            return self._request.kill or self.run.server_is_gone()

        self._wait(is_over, lambda: self._request.grace_s)

    def _kill_all(self) -> list[int]:
        """KILL members until a look at the whole machine finds none; pids that survive even that."""
        if not self._request.kill:
            self._wait(lambda: self._request.kill or not self._living(), lambda: _ORPHAN_PATIENCE_S)
        step("keeper-kills")
        deadline = time.monotonic() + _KILL_LIMIT_S
        living = self._living()  # the known ones first: a look at the whole machine takes its time
        quiet_looks = 0
        while quiet_looks < _QUIET_LOOKS and time.monotonic() < deadline:
            if living:
                self._kill(living)
                self._tell("killing")
            reaped = self.run.reaped
            self.run.members.scan()
            living = self._living()
            # One that forks and ends while we look is missed by that look; but its end is noticed.
            quiet_looks = quiet_looks + 1 if not living and self.run.reaped == reaped else 0
        return [member.pid for member in living]

    def _kill(self, living: list[ProcessIdentity]) -> None:
        """KILL them, and at once what they fork meanwhile, for a second at most."""
        deadline = time.monotonic() + _ROUND_S
        while living and time.monotonic() < deadline:
            self._killed.update(member.pid for member in living if _signal(member, signal.SIGKILL))
            time.sleep(_KILL_STEP_S)
            living = self._living()

    def _watch(self, release: Release, survivors: list[int], *, had_port: bool) -> GpuMemoryReading | None:
        """Look at the GPUs and the port until all is back, or time is up; the last reading."""
        started = time.monotonic()
        self._tell("waiting for its memory")
        step("keeper-watches")
        while True:
            # Without a reading from before there is nothing to compare with, and a hung driver takes its time.
            after = self.run.read_memory(_AFTER_LIMIT_S) if release.before is not None else None
            port_held = had_port and bool(listeners(self.run.target.port))
            is_back = not release.may_still_come(after) and not port_held
            if is_back or survivors or time.monotonic() - started > self._request.release_wait_s:
                return after
            self._hurry()
            time.sleep(_RELEASE_STEP_S)

    def _living(self) -> list[ProcessIdentity]:
        self.run.reap()
        self.run.members.refresh()
        living = self.run.members.alive()
        self._ended.update(member.pid for member in living)
        return living

    def _wait(self, condition: Callable[[], bool], limit_s: Callable[[], float]) -> None:
        """Until the condition holds or the limit, which may shrink meanwhile, is reached."""
        started = time.monotonic()
        while not condition() and time.monotonic() - started < limit_s():
            self._hurry()
            if time.monotonic() - self._walked_at > _WALK_STEP_S:  # a tree may still grow while it drains
                self._walked_at = time.monotonic()
                self._living()
                self.run.record_members()
            time.sleep(_STEP_S)

    def _hurry(self) -> None:
        self._request = self._request.hurried(self._further())

    def _tell_remaining(self, count: int | None) -> None:
        """Add how much there is left to drain; the phase goes on."""
        if count:
            self.run.records.note(phase=f"draining, {count} request{'' if count == 1 else 's'} left,")

    def _tell(self, phase: str) -> None:
        """Say on record what the stop is waiting for."""
        self.run.records.note(phase=phase, phase_since=utc_now())


def _signal(member: ProcessIdentity, signum: signal.Signals) -> bool:
    """Whether it was sent. A member that has become another user's can't be signalled, and survives."""
    try:
        return send_signal(member, signum)
    except PermissionError:
        return False
