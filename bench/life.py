"""How soon the UI knows: a stage after its log line, ready after its proof, failed with its cause after the death.

    python bench/life.py [RUNS]

A simulated server at its demonstration pace is launched under its keeper, and one of its schedulers is killed when it
is ready. Beside it the UI's own sampler looks at the machine, and a watch follows the log and the processes every
10 ms. The proof is the keeper's; how long it takes it, from the line in which the server says so, is printed too.
Goals: 1 s, 1 s and 2 s, for the median run; the slowest is printed beside it.
"""

from __future__ import annotations

import os
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from textual.message import Message

from tui.app.bridge import Sampler
from tui.app.messages import SnapshotTaken
from tui.cli.context import Context
from tui.cli.core import LocalCore
from tui.diagnosis.progress import Stage
from tui.gpu.simulated import SimulatedReader
from tui.keeper.identity import read_stat
from tui.keeper.procfs import children
from tui.keeper.states import State
from tui.keeper.stop import StopRequest
from tui.launch.progress import ProgressReader
from tui.launch.records import find_launch
from tui.launch.spec import LaunchSpec
from tui.launch.start import Launcher
from tui.launch.stop import stop_launch
from tui.observe import Instance
from tui.paths import Places
from tui.settings import load_settings
from tui.simulator.machine import create_machine

GOALS_S = {"stage": 1.0, "ready": 1.0, "failed": 2.0}
MODEL = "Qwen/Qwen3-0.6B"
READY_LINE = b"The server is fired up and ready to roll!"
_STEP_S = 0.01
_LIMIT_S = 180.0
_ORDER = list(Stage)


@dataclass
class Seen:
    """When something was first shown, or first so."""

    stages: dict[Stage, float] = field(default_factory=dict)
    ready: float | None = None
    failed: float | None = None

    def take(self, message: Message) -> None:
        """A message of the sampler."""
        now = time.monotonic()
        if isinstance(message, SnapshotTaken) and message.snapshot.instances:
            self._note(message.snapshot.instances[0], now)

    def _note(self, one: Instance, now: float) -> None:
        if one.progress is not None:
            self.stages.setdefault(one.progress.stage, now)
        if one.state is State.READY:
            self.ready = self.ready or now
        if one.state is State.FAILED and one.cause:
            self.failed = self.failed or now

    def shown_s(self, stage: Stage) -> float | None:
        """When it, or a later one, was shown."""
        later = [at for one, at in self.stages.items() if _ORDER.index(one) >= _ORDER.index(stage)]
        return min([*later, *([self.ready] if self.ready is not None else [])], default=None)


def main() -> int:
    """Print the delays; status 1 when a goal is missed."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    delays: dict[str, list[float]] = {}
    for _ in range(runs):
        with tempfile.TemporaryDirectory(prefix="life-bench-") as folder:
            for name, seconds in live_once(Path(folder)).items():
                delays.setdefault(name, []).append(seconds)
    for name, seconds in delays.items():
        goal = f"goal: within {GOALS_S[name]:g} s" if name in GOALS_S else "no goal"
        print(f"{name:<7} median {statistics.median(seconds):5.2f} s, slowest {max(seconds):5.2f} s   ({goal})")
    return 0 if all(statistics.median(delays[name]) <= goal for name, goal in GOALS_S.items()) else 1


def live_once(folder: Path) -> dict[str, float]:
    """The delays of one life."""
    machine = create_machine(folder / "machine", release="0.5.23", pace=0.3)
    places = Places(machine.directory / "state", machine.directory / "config", machine.directory)
    context = Context(places, load_settings(places), SimulatedReader(machine.directory))
    seen = Seen()
    with looking(LocalCore(context), seen):
        address = Launcher(places, context.settings, context.reader).launch(LaunchSpec("one", MODEL), force=True)
        try:
            logged, said = follow(find_launch(places, address).files.log)
            wait(lambda: find_launch(places, address).state.state is State.READY, "the proof")
            proof = time.monotonic()
            wait(lambda: seen.ready is not None, "ready shown")
            died = kill_scheduler(places, address)
            wait(lambda: seen.failed is not None, "failure shown")
        finally:
            stop_launch(places, address.partition("/")[0], StopRequest(release_wait_s=0, kill=True))
    shown = {stage: seen.shown_s(stage) for stage in logged}
    assert seen.ready is not None
    assert seen.failed is not None
    return {
        "stage": max(at - logged[stage] for stage, at in shown.items() if at is not None),
        "proof": max(proof - said, 0.0),
        "ready": max(seen.ready - proof, 0.0),
        "failed": seen.failed - died,
    }


@contextmanager
def looking(core: LocalCore, seen: Seen) -> Iterator[None]:
    """With the UI's sampler, without its screen."""
    sampler = Sampler(core.snapshot, seen.take)
    sampler.start()
    try:
        yield
    finally:
        sampler.stop()
        core.close()


def follow(log: Path) -> tuple[dict[Stage, float], float]:
    """When each stage's first line stood in the log, and when it said that it is ready."""
    reader, logged = ProgressReader(log), dict[Stage, float]()
    while READY_LINE not in (log.read_bytes() if log.exists() else b""):
        progress = reader.catch_up().progress
        if progress is not None:
            logged.setdefault(progress.stage, time.monotonic())
        time.sleep(_STEP_S)
    reader.close()
    return logged, time.monotonic()


def kill_scheduler(places: Places, address: str) -> float:
    """Kill a child of the server, as a GPU's fault would; when its main process is gone."""
    server = find_launch(places, address).state.server
    assert server is not None
    scheduler = next(pid for pid in children(server.pid) if _is_scheduler(pid))
    os.kill(scheduler, signal.SIGKILL)
    wait(lambda: not server.is_alive() or _is_dead(server.pid), "the server's death")
    return time.monotonic()


def _is_scheduler(pid: int) -> bool:
    return Path(f"/proc/{pid}/cmdline").read_bytes().startswith(b"sglang::scheduler")


def _is_dead(pid: int) -> bool:
    stat = read_stat(pid)
    return stat is None or stat.is_dead


def wait(holds: Callable[[], bool], what: str) -> None:
    """Until it holds."""
    deadline = time.monotonic() + _LIMIT_S
    while not holds():
        if time.monotonic() > deadline:
            raise TimeoutError(f"never: {what}")
        time.sleep(_STEP_S)


if __name__ == "__main__":
    sys.exit(main())
