"""Ending a launch: TERM, patience, KILL, look again, then prove that memory, port and shared memory are back."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tui.keeper import procfs
from tui.keeper.gpu_memory import GpuMemoryReading
from tui.keeper.identity import ProcessIdentity, send_signal
from tui.keeper.readiness import owns_port
from tui.keeper.release import Release
from tui.keeper.run import Run

_STEP_S = 0.05
_RELEASE_STEP_S = 0.25
# After the main process is gone its children get this long to notice it (PDEATHSIG, broken pipes).
_ORPHAN_PATIENCE_S = 2.0
_KILL_LIMIT_S = 10.0


@dataclass
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


class Stopper:
    """One stop, from the first signal to the report.

    Args:
        run: the launch to end.
        request: how; its `kill` may be set while the stop goes on.
        heed: called at every step, so that a keeper can take further requests meanwhile.
    """

    def __init__(self, run: Run, request: StopRequest, heed: Callable[[], None] = lambda: None) -> None:
        self.run = run
        self.request = request
        self._heed = heed
        self._started = time.monotonic()
        self._ended: set[int] = set()

    def stop(self) -> dict[str, Any]:
        """End every member and watch what comes back.

        Returns:
            The report of the `stop` contract, less the name.
        """
        run = self.run
        run.members.scan()
        before = run.read_memory()
        shm = self._shared_memory()
        self._seen(run.members.alive())
        had_port = owns_port(run.members.alive(), run.target.port)
        if not self.request.kill and send_signal(run.server, signal.SIGTERM):
            self._wait(self._is_drained, self.request.grace_s)
        self._wait_for_orphans()
        survivors = self._kill_all()
        release = Release(run.target.gpus, before, run.baseline(), frozenset(self._ended))
        after = self._watch(release, survivors, had_port=had_port)
        return {
            "stopped": sorted(self._ended - set(survivors)),
            "survivors": survivors,
            "memory_before_gib": release.used_gib(before),
            "memory_after_gib": release.used_gib(after),
            "released": False if survivors and run.target.gpus else release.check(after),
            "seconds": round(time.monotonic() - self._started, 1),
            "port_free": not procfs.listening(run.target.port),
            "shm_left": sorted(str(path) for path in shm if path.exists()),
        }

    def _is_drained(self) -> bool:
        return self.request.kill or self.run.server_is_gone()

    def _wait_for_orphans(self) -> None:
        if not self.request.kill:
            self._wait(lambda: not self._living(), _ORPHAN_PATIENCE_S)

    def _kill_all(self) -> list[int]:
        """KILL members until a look at the whole machine finds none; pids that survive even that."""
        deadline = time.monotonic() + _KILL_LIMIT_S
        while True:
            self.run.members.scan()
            living = self._living()
            if not living or time.monotonic() > deadline:
                return [member.pid for member in living]
            for member in living:
                send_signal(member, signal.SIGKILL)
            self._wait(lambda: not self._living(), 1.0)

    def _living(self) -> list[ProcessIdentity]:
        self.run.reap()
        self.run.members.refresh()
        living = self.run.members.alive()
        self._seen(living)
        return living

    def _seen(self, members: list[ProcessIdentity]) -> None:
        self._ended.update(member.pid for member in members)

    def _wait(self, condition: Callable[[], bool], limit_s: float) -> None:
        deadline = time.monotonic() + limit_s
        while not condition() and time.monotonic() < deadline:
            self._heed()
            time.sleep(_STEP_S)

    def _shared_memory(self) -> set[Path]:
        found: set[Path] = set()
        for member in self.run.members.alive():
            found |= procfs.shared_memory(member.pid)
        return found

    def _watch(self, release: Release, survivors: list[int], *, had_port: bool) -> GpuMemoryReading | None:
        """Look at the GPUs and the port until all is back, or time is up; the last reading."""
        deadline = time.monotonic() + self.request.release_wait_s
        while True:
            after = self.run.read_memory()
            port_held = had_port and bool(procfs.listening(self.run.target.port))
            if survivors or time.monotonic() > deadline:
                return after
            if release.check(after) is not False and not port_held:
                return after
            self._heed()
            time.sleep(_RELEASE_STEP_S)
