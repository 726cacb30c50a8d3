"""Launches and stops again and again, with random kills; a tree that grows while it is killed; fifty who look alike."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.keeping import PROGRAMS, Keeping, Kept, is_running
from tests.support.ports import free_port
from tests.support.waiting import wait_until
from tui.keeper import procfs
from tui.keeper.gpu_memory import read_simulated
from tui.keeper.members import MARK_VARIABLE
from tui.keeper.stop import StopRequest
from tui.launch.adopt import adopt_launch, needs_keeper
from tui.launch.records import GivenGpu
from tui.launch.stop import stop_launch
from tui.simulator.machine import Machine

QUICK = StopRequest(grace_s=0.2, release_wait_s=10)
REPOSITORY = PROGRAMS.parents[1]
# What ends first, and what may be on record of it: an end before the stop, or the stop.
VICTIMS = {
    "nobody": {"stopped"},
    "keeper": {"stopped"},
    "main": {"failed", "exited"},
    "a child": {"failed", "stopped"},
}
MOMENTS = ("starting", "loading", "ready")
TEN = [pytest.param(1, 10)]
TWO_HUNDRED = [pytest.param(seed, 20, marks=pytest.mark.soak) for seed in range(2, 12)]


@pytest.mark.timeout(900)
@pytest.mark.parametrize(("seed", "count"), [*TEN, *TWO_HUNDRED])
def test_cycles_with_random_kills_leave_nothing(
    keeping: Keeping, make_machine: Callable[..., Machine], decoy: int, seed: int, count: int
) -> None:
    machine = make_machine("cycles")
    chance = random.Random(seed)  # noqa: S311 - to be played again, not to be secret
    for number in range(count):
        victim, moment = chance.choice(list(VICTIMS)), chance.choice(MOMENTS)
        told = f"seed {seed}, cycle {number}: {victim} killed while {moment}"
        kept = launch(keeping, machine)
        kept.wait_for(*MOMENTS[MOMENTS.index(moment) :], "failed")
        kill(kept, victim)
        bring_to_an_end(keeping, kept)
        assert kept.state in VICTIMS[victim] | ({"lost"} if never_ran(kept) else set()), told
        assert left_of(kept) == [], told
        assert not has_cgroup(kept), told
        assert kept.exit()["stop"]["survivors"] == [], told
        assert kept.exit()["stop"]["shm_left"] == [], told
        assert sum(read_simulated(machine.directory).used_bytes.values()) == 0, told
        assert is_running(decoy), told


def launch(keeping: Keeping, machine: Machine) -> Kept:
    port, gpu = free_port(), machine.gpus[0]
    words = [str(machine.python), "-m", "sglang.launch_server", "--model-path", "Qwen/Qwen3-0.6B", "--port", str(port)]
    given = [GivenGpu(gpu.index, gpu.uuid, gpu.name)]
    return keeping.launch(words, port=port, gpus=given, simulated=str(machine.directory))


def kill(kept: Kept, victim: str) -> None:
    server, keeper = kept.pid, kept.keeper_pid
    if victim == "a child":
        wait_until(lambda: list(procfs.children(server)) or not is_running(server), what=kept.trouble())
        pids = list(procfs.children(server))[-1:]
    else:
        pids = {"nobody": [], "keeper": [keeper], "main": [server]}[victim]
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        wait_until(lambda pid=pid: not is_running(pid))  # type: ignore[misc]  # bound


def bring_to_an_end(keeping: Keeping, kept: Kept) -> None:
    """As whoever looks next would."""
    if needs_keeper(kept.read()):
        adopt_launch(keeping.places, "server")
    recorded = kept.read()
    if not recorded.is_over and recorded.state.server is not None and recorded.state.server.is_alive():
        stop_launch(keeping.places, "server", QUICK)
    wait_until(lambda: kept.files.exit.exists() and kept.exit().get("stop"), what=kept.trouble())
    wait_until(lambda: not kept.read().is_attended, what=kept.trouble())


def left_of(kept: Kept) -> list[int]:
    assignment = f"{MARK_VARIABLE}={kept.read().launch.mark}"
    return [pid for pid in procfs.all_pids() if procfs.has_environment(pid, assignment) and is_running(pid)]


def never_ran(kept: Kept) -> bool:
    """Its keeper was killed between writing down that it starts, which is waited for, and letting it start."""
    return kept.files.log.read_bytes() == b""


def has_cgroup(kept: Kept) -> bool:
    """Where the machine lets a keeper make one, it must be gone with the server."""
    path = json.loads(kept.files.state.read_text()).get("cgroup")
    return path is not None and Path(path).exists()


@pytest.mark.parametrize("keeper", ["lives", "is dead"])
def test_a_tree_that_grows_while_it_is_killed_is_gone_when_stop_returns(
    keeping: Keeping, monkeypatch: pytest.MonkeyPatch, decoy: int, keeper: str
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(REPOSITORY))
    kept = keeping.launch_program("hydra.py")
    wait_until(lambda: kept.files.log.exists() and kept.files.log.read_bytes() == b"up\n", what=kept.trouble())
    if keeper == "is dead":
        os.kill(kept.keeper_pid, signal.SIGKILL)
        wait_until(lambda: not kept.read().is_attended)
    report = stop_launch(keeping.places, "server", StopRequest(grace_s=0.3, release_wait_s=0))
    assert report.survivors == ()
    assert left_of(kept) == []
    assert len(report.killed) > 10, "it had grown"
    assert is_running(decoy)


def test_fifty_who_look_like_sglang_are_not_touched(keeping: Keeping, tmp_path: Path) -> None:
    """By name and command line, some in the process group and session of the one who started us, some in others."""
    words = [sys.executable, "-S", str(PROGRAMS / "titled.py"), "sglang::scheduler"]  # without site: half the time
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    log = tmp_path / "pids"
    with log.open("ab") as file:
        starting = [
            subprocess.Popen(words, stdout=file, stderr=file, env=environment, start_new_session=bool(number % 2))
            for number in range(50)
        ]
    for process in starting:
        process.wait()
    wait_until(lambda: len(log.read_text().split()) == 50)
    decoys = [int(word) for word in log.read_text().split()]
    try:
        pids_file = tmp_path / "tree"
        keeping.launch_program("tree.py", str(pids_file))
        wait_until(pids_file.exists)
        report = stop_launch(keeping.places, "server", QUICK)
        assert not set(report.stopped) & set(decoys)
        assert [pid for pid in decoys if not is_running(pid)] == []
    finally:
        for pid in decoys:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def test_a_keeper_is_small(keeping: Keeping, unused_tcp_port: int) -> None:
    """Under 25 MB resident, as it stands beside every server for weeks; what it costs in CPU is measured by bench."""
    kept = keeping.launch_program("answer.py", str(unused_tcp_port), port=unused_tcp_port)
    kept.wait_for("ready")
    status = Path(f"/proc/{kept.keeper_pid}/status").read_text()
    resident_kib = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS:"))
    assert resident_kib * 1024 < 25_000_000
    stop_launch(keeping.places, "server", QUICK)
