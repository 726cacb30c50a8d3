"""A real server from its launch to its stop, alone, on two ranks, and beside another."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

import pytest

from tests.real.machine import Engine, RealMachine
from tests.real.servers import READY_LINE, RETURN_CODES, choose_port
from tests.support.keeping import is_running
from tests.support.waiting import wait_until
from tui.diagnosis.progress import Stage

# What it forgets in /dev/shm, by release and number of ranks: the queue through which ranks talk, a table of loads.
LEFT_MEMORY = {
    ("0.5.11", 1): (),
    ("0.5.11", 2): ("psm_",),
    ("0.5.23", 1): ("sglang_loads_",),
    ("0.5.23", 2): ("sgl_shm_mq_", "sglang_loads_"),
}
# multiprocessing's semaphores are left by 0.5.11 too: it ends with SIGKILL, for itself and for who would remove them.
SEMAPHORE = "sem.mp-"


@pytest.mark.parametrize("ranks", [1, 2])
def test_launch_serve_stop(real_machine: RealMachine, engine: Engine, ranks: int) -> None:
    real_machine.environ["SGLANG_CPU_OMP_THREADS_BIND"] = "|".join(map(str, range(ranks)))
    port = choose_port()
    done = real_machine.run("launch", "--wait", *real_machine.launch_words("one", "--tp", str(ranks), port=port))
    assert done.returncode == 0, done.stderr
    told = re.findall(r"(?:starting|loading): (\D+?)(?: \d+/\d+)?$", done.stderr, re.MULTILINE)
    stages = list(map(Stage, told))
    assert stages == sorted(stages, key=list(Stage).index)
    assert Stage.IMPORT in stages

    row = real_machine.ps("one")
    assert (row["state"], row["attended"], row["port"], row["preset"]) == ("ready", True, port, "dense")
    assert (row["cause"], row["gpus"]) == (None, [])
    assert is_running(row["pid"])
    server = real_machine.find("one")
    assert server.read().launch.sglang_version == engine.release
    titles = {command for command in server.processes().values() if command.startswith("sglang::")}
    schedulers = {"sglang::scheduler"} if ranks == 1 else {"sglang::scheduler_TP0", "sglang::scheduler_TP1"}
    assert titles == {"sglang::detokenizer", *schedulers}
    wait_until(  # ranks start short-lived helpers of their own
        lambda: {member.pid for member in server.read().living_members()} == set(server.processes()),
        what="the record names every process",
    )
    assert server.chat() == "length"
    server.wait_for_log(READY_LINE)  # SGLang answers some seconds before its own warm-up is over
    assert READY_LINE in real_machine.ok("logs", "one")
    assert f"port {port} belongs to one" in real_machine.run("launch", "dense", "--port", str(port)).stderr
    assert "already ready" in real_machine.run("launch", "dense", "--name", "one").stderr

    processes = set(server.processes())
    report = real_machine.stop("one")
    assert server.processes() == {}
    assert set(report["stopped"]) == processes, "main, resource tracker, detokenizer, and a scheduler a rank"
    assert (report["released"], report["port_free"]) == (True, True)
    assert_shared_memory(report["shm_left"], engine, ranks)
    assert real_machine.ps("one")["state"] == "stopped"
    ended = server.exit()
    assert (ended["state"], ended["asked"], ended["was_ready"]) == ("stopped", True, True)
    assert ended["returncode"] == RETURN_CODES[engine.release]
    assert server.states_until("stopped") == ["starting", "loading", "ready", "stopping", "stopped"]
    assert server.trouble() == "", "the keeper had none"


def assert_shared_memory(left: list[str], engine: Engine, ranks: int) -> None:
    """The report tells what SGLang forgets in shared memory: that it is there, and no more than that."""
    paths = sorted(map(Path, left))
    names = [path.name for path in paths]
    for path in paths:
        path.unlink()  # it fails where there is none
    large = [name for name in names if not name.startswith(SEMAPHORE)]
    expected = LEFT_MEMORY[engine.release, ranks]
    assert len(large) == len(expected), names
    assert all(name.startswith(prefix) for name, prefix in zip(large, expected, strict=True)), names
    assert (len(large) < len(names)) is (engine.release == "0.5.11"), names


def test_what_is_left_in_shared_memory_is_told(real_machine: RealMachine) -> None:
    mapped = real_machine.launch_and_wait("one").shared_memory()
    report = real_machine.stop("one")
    with os.scandir("/dev/shm") as entries:
        left = {Path(entry.path) for entry in entries if entry.inode() in mapped}
    for path in left:
        path.unlink()
    assert set(map(Path, report["shm_left"])) == left


def test_two_servers_and_the_keeper_of_one_is_killed(real_machine: RealMachine) -> None:
    left, right = real_machine.launch("left"), real_machine.launch("right")
    left.wait_for("ready")
    right.wait_for("ready")
    keeper = right.keeper_pid
    os.kill(keeper, signal.SIGKILL)
    wait_until(lambda: not is_running(keeper), what="the end of the keeper")
    row = real_machine.ps("right")
    assert (row["state"], row["attended"]) == ("ready", False)
    assert right.chat() == "length"

    real_machine.stop("right")
    assert right.processes() == {}
    ended = right.exit()
    assert (ended["state"], ended["returncode"]) == ("stopped", None), "nobody was there to see its status"
    assert real_machine.ps("left")["state"] == "ready"
    assert left.chat() == "length"
    real_machine.stop("left")
    assert left.processes() == {}
