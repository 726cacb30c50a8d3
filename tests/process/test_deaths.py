"""How ends are explained, and what a stop tells on its way and afterwards; with real processes and real signals."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

from tests.support.cgroups import MemoryCgroup
from tests.support.command_line import CommandLine
from tests.support.keeping import PROGRAMS, Keeping, Kept
from tests.support.waiting import wait_until
from tui.keeper.gpu_memory import GpuMemoryReading
from tui.keeper.release import Release, describe_holders
from tui.keeper.requests import post
from tui.keeper.stop import StopRequest
from tui.launch.stop import stop_launch

QUICK = StopRequest(grace_s=0.2, release_wait_s=0)
MODEL = "Qwen/Qwen3-0.6B"
STAMP = "[2026-01-01 00:00:00]"
MIB = 1 << 20


def launch_ready(keeping: Keeping, port: int) -> Kept:
    kept = keeping.launch_program("answer.py", str(port), port=port)
    kept.wait_for("ready")
    return kept


def test_somebodys_kill_of_a_ready_server_is_an_exit_that_says_so(keeping: Keeping, unused_tcp_port: int) -> None:
    kept = launch_ready(keeping, unused_tcp_port)
    os.kill(kept.pid, signal.SIGKILL)
    end = kept.exit()
    assert (end["state"], end["returncode"], end["killed_by"]) == ("exited", -9, "somebody")
    assert "somebody sent SIGKILL" in end["explanation"]


def test_the_crashed_child_is_named_as_the_cause(command_line: CommandLine) -> None:
    command_line.ok("launch", "--model", MODEL, "--wait")
    scheduler = command_line.child("qwen3-0.6b", "sglang::scheduler")
    os.kill(scheduler, signal.SIGKILL)
    command_line.wait_for("qwen3-0.6b", "failed")
    cause = command_line.ps("qwen3-0.6b")["cause"]
    assert cause == f"its scheduler_0 (pid {scheduler}) was ended by SIGKILL, so it ended itself after it was ready"


def test_a_server_that_somebody_else_asks_to_end_has_exited(command_line: CommandLine) -> None:
    """0.5.11 ends with SIGKILL of its own even then: the log tells it from a crash."""
    command_line.ok("launch", "--model", MODEL, "--wait")
    os.kill(command_line.ps("qwen3-0.6b")["pid"], signal.SIGTERM)
    command_line.wait_for("qwen3-0.6b", "exited")
    assert command_line.ps("qwen3-0.6b")["cause"] == "somebody asked it to end, outside of sgltui"


def test_the_kernels_oom_killer_is_told_from_every_other_kill(
    keeping: Keeping, memory_cgroup: MemoryCgroup, unused_tcp_port: int
) -> None:
    words = "import time, sys; time.sleep(float(sys.argv[1])); block = b'x' * (1 << 30)"
    memory_cgroup.limit(128 * MIB)
    with memory_cgroup.inside():
        kept = keeping.launch([sys.executable, "-c", words, "0"], port=unused_tcp_port)
    kept.wait_for("failed")
    end = kept.exit()
    assert (end["returncode"], end["killed_by"]) == (-9, "kernel")
    assert "memory" in end["explanation"]
    wait_until(lambda: not kept.read().is_attended)


def draining_program(tmp_path: Path) -> list[str]:
    """It says what SGLang says while it waits for requests, and waits."""
    script = tmp_path / "drain.py"
    script.write_text(
        "import signal, time\n"
        "def drain(*_):\n"
        f"    print('{STAMP} SIGTERM received. signum=None frame=None. Draining requests', flush=True)\n"
        f"    print('{STAMP} Gracefully exiting... Remaining number of requests 3. Remaining', flush=True)\n"
        "signal.signal(signal.SIGTERM, drain)\n"
        "print('up', flush=True)\n"
        "while True: time.sleep(60)\n"
    )
    return [sys.executable, str(script)]


def test_a_drain_tells_how_many_requests_it_waits_for_and_can_be_cut_short(keeping: Keeping, tmp_path: Path) -> None:
    kept = keeping.launch(draining_program(tmp_path))
    wait_until(lambda: kept.files.log.exists() and kept.files.log.read_bytes() == b"up\n", what=kept.trouble())
    patient = StopRequest(grace_s=3600, release_wait_s=0)
    asker = threading.Thread(target=stop_launch, args=(keeping.places, "server", patient))
    asker.start()
    wait_until(lambda: kept.read().state.phase == "draining, 3 requests left,", what=str(kept.read().state.phase))
    post(kept.files.requests, StopRequest(grace_s=3600, release_wait_s=0, kill=True))
    asker.join(60)
    assert not asker.is_alive()
    assert kept.exit()["state"] == "stopped"


def test_ctrl_c_on_a_terminal_asks_to_kill_and_the_stop_is_hurried(command_line: CommandLine) -> None:
    command_line.environ["SGLTUI_SIM"] = "ignore-term"
    command_line.ok("launch", "--model", MODEL, "--wait")
    ours, theirs = os.openpty()
    stopping = subprocess.Popen(
        command_line.words("stop", "qwen3-0.6b", "--grace", "600"),
        env=command_line.environment,
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    command_line.wait_for("qwen3-0.6b", "stopping")
    os.write(ours, b"y\n")
    stopping.send_signal(signal.SIGINT)
    output, errors = stopping.communicate(timeout=100)
    os.close(ours)
    os.close(theirs)
    assert stopping.returncode == 0, errors
    assert "Kill qwen3-0.6b now?" in errors
    assert "had to be killed" in output


def test_a_stale_lock_of_a_build_is_named(keeping: Keeping, tmp_path: Path) -> None:
    lock = tmp_path / "torch_extensions" / "lock"
    lock.parent.mkdir()
    words = (
        "import os, sys, time; os.open(sys.argv[1], os.O_CREAT | os.O_EXCL); print('up', flush=True); time.sleep(600)"
    )
    kept = keeping.launch([sys.executable, "-c", words, str(lock)])
    wait_until(lambda: kept.files.log.exists() and kept.files.log.read_bytes() == b"up\n", what=kept.trouble())
    assert stop_launch(keeping.places, "server", QUICK).locks_left == (str(lock),)
    assert lock.exists(), "named, and left to the person"


def test_who_still_holds_memory_is_named() -> None:
    mine, gpu = os.getpid(), "GPU-1"
    before = GpuMemoryReading({gpu: 5 << 30}, {mine: {gpu: 3 << 30}, 1: {gpu: 2 << 30}})
    after = GpuMemoryReading({gpu: 6 << 30}, {mine: {gpu: 3 << 30}, 1: {gpu: 2 << 30}})
    found = describe_holders(Release([gpu], before, {}, frozenset({mine})), after)
    assert [(holder["pid"], holder["gib"]) for holder in found] == [(mine, 3.0), (None, 1.0)]
    assert found[0]["user"]
    assert Path(sys.executable).name in found[0]["command"] or "python" in found[0]["command"]


def test_memory_without_an_owner_is_named_by_the_command(command_line: CommandLine) -> None:
    command_line.places.settings_file.parent.mkdir(parents=True, exist_ok=True)
    command_line.places.settings_file.write_text("release_wait_s = 0\n")
    command_line.environ["SGLTUI_SIM"] = "leak"
    command_line.ok("launch", "--model", MODEL, "--wait")
    done = command_line.run("stop", "qwen3-0.6b", "--json")
    assert done.returncode == 5
    [result] = json.loads(done.stdout)["results"]
    [holder] = result["holders"]
    assert (holder["pid"], holder["gib"]) == (None, result["memory_after_gib"])


def test_shared_memory_of_a_server_that_was_killed_is_named(keeping: Keeping, unused_tcp_port: int) -> None:
    """Its maps went with it, so its keeper must have looked before."""
    left = Path(f"/dev/shm/sgltui-test-{os.getpid()}-killed")
    answer = PROGRAMS / "answer.py"
    words = f"import mmap, runpy, sys; sys.argv = ['answer.py', '{unused_tcp_port}']; file = open({str(left)!r}, 'w+b')"
    run = f"file.truncate(4096); shared = mmap.mmap(file.fileno(), 0); runpy.run_path({str(answer)!r})"
    try:
        kept = keeping.launch([sys.executable, "-c", f"{words}; {run}"], port=unused_tcp_port)
        kept.wait_for("ready")
        os.kill(kept.pid, signal.SIGKILL)
        wait_until(lambda: kept.exit().get("stop"), what=kept.trouble())
        assert kept.exit()["stop"]["shm_left"] == [str(left)]
    finally:
        left.unlink(missing_ok=True)
