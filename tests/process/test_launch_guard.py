"""What a launch is told before it starts: who is in its way, that it won't fit; and what a killed launcher leaves."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.support.command_line import LIMIT_S, CommandLine
from tests.support.planning import FIXTURES
from tests.support.steps import Steps
from tests.support.waiting import wait_until
from tui.launch.port_owner import describe_port_owner
from tui.machine_file import ForeignProcess
from tui.simulator.machine import Machine, default_gpus

MODEL = "Qwen/Qwen3-0.6B"
TOO_LARGE = ("--mem-fraction-static", "0.4")


def make_model(folder: Path, config: str) -> str:
    folder.mkdir()
    shutil.copy(FIXTURES / "configs" / f"{config}.json", folder / "config.json")
    return str(folder)


def test_who_has_the_port_is_named(command_line: CommandLine) -> None:
    words = "import socket, time; s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen(); "
    words += "print(s.getsockname()[1], flush=True); time.sleep(600)"
    with subprocess.Popen([sys.executable, "-c", words], stdout=subprocess.PIPE, text=True) as stranger:
        assert stranger.stdout is not None
        port = stranger.stdout.readline().strip()
        done = command_line.run("launch", "--model", MODEL, "--port", port)
        stranger.kill()
    assert done.returncode == 1
    assert f"port {port} on 127.0.0.1 is taken by pid {stranger.pid} (" in done.stderr
    assert "import socket" in done.stderr


def test_nobody_has_a_free_port() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        assert describe_port_owner(probe.getsockname()[1]) == "another program", "bound, and not listened on"


def test_a_launch_that_does_not_fit_is_refused_with_status_3_unless_forced(
    command_line: CommandLine, tmp_path: Path
) -> None:
    model = make_model(tmp_path / "large", "qwen3.6-27b")
    done = command_line.run("launch", "--model", model, "--name", "large", "--", *TOO_LARGE)
    assert (done.returncode, done.stdout) == (3, "")
    assert "it won't fit: " in done.stderr
    assert "--force" in done.stderr
    assert command_line.launches("large") == []
    done = command_line.run("launch", "--model", model, "--name", "large", "--force", "--", *TOO_LARGE)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("large/")
    assert "launched all the same: it won't fit: " in done.stderr, "never silently"


def test_others_on_the_chosen_gpu_are_named(make_machine: Callable[..., Machine], tmp_path: Path) -> None:
    gpu = default_gpus()[1]
    busy = ForeignProcess(gpu.uuid, 4242, "mallory", "python train.py", 60000)
    command_line = CommandLine(make_machine("shared", foreign=[busy]))
    command_line.environ["SGLTUI_SIM"] = "hang=weight load"
    done = command_line.run("launch", "--model", MODEL, "--name", "beside", "--on", "1")
    assert done.returncode == 0, done.stderr
    assert "GPU 1: pid 4242 (mallory, python train.py) holds 58.6 GiB" in done.stderr
    command_line.ok("stop", "beside", "--kill")
    model = make_model(tmp_path / "large", "qwen3.6-27b")
    done = command_line.run("launch", "--model", model, "--name", "large", "--on", "1")
    assert done.returncode == 3
    assert "mallory" in done.stderr


def test_a_killed_launcher_leaves_neither_lock_nor_name(command_line: CommandLine, steps: Steps) -> None:
    command_line.environ["SGLTUI_SIM"] = "hang=weight load"
    steps.hold("launcher-recorded")
    launcher = command_line.start("launch", "--model", MODEL)
    assert steps.reached("launcher-recorded") == launcher.pid
    launcher.send_signal(signal.SIGKILL)
    launcher.communicate(timeout=LIMIT_S)
    steps.release("launcher-recorded")
    command_line.ok("launch", "--model", MODEL)
    first, second = command_line.launches("qwen3-0.6b")
    assert not (first / "state.json").exists()
    assert command_line.ps("qwen3-0.6b")["launch"] == second.name


def test_a_launcher_killed_while_a_keeper_takes_over_starts_no_second_server(
    command_line: CommandLine, steps: Steps
) -> None:
    """The launch goes on under its keeper, and the next one of that name sees it."""
    command_line.environ["SGLTUI_SIM"] = "hang=weight load"
    steps.hold("keeper-attends")
    launcher = command_line.start("launch", "--model", MODEL)
    keeper = steps.reached("keeper-attends")
    launcher.send_signal(signal.SIGKILL)
    launcher.communicate(timeout=LIMIT_S)
    second = command_line.run("launch", "--model", MODEL)
    assert second.returncode == 1
    assert "'qwen3-0.6b' is already" in second.stderr
    steps.release("keeper-attends")
    command_line.wait_for("qwen3-0.6b", "loading")
    assert len(command_line.launches("qwen3-0.6b")) == 1
    wait_until(lambda: command_line.recorded("qwen3-0.6b").state.server)
    assert os.getpgid(keeper) != os.getpgid(command_line.ps("qwen3-0.6b")["pid"])
