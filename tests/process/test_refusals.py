"""What is refused before anything starts: one line that says what is wrong and what to do, and its exit status."""

from __future__ import annotations

import os
import socket
import subprocess

import pytest

from tests.support.command_line import CommandLine

MODEL = "Qwen/Qwen3-0.6B"


def assert_refused(command_line: CommandLine, *arguments: str, says: str, status: int = 1) -> None:
    done = command_line.run("launch", *arguments)
    assert done.returncode == status, done
    assert says in done.stderr
    assert done.stderr.count("\n") == 1, "one line"
    assert done.stdout == ""


def test_a_name_in_use(command_line: CommandLine) -> None:
    command_line.environ["SGLTUI_SIM"] = "hang=weight load"
    command_line.ok("launch", "--model", MODEL, "--name", "one")
    assert_refused(command_line, "--model", MODEL, "--name", "one", says="'one' is already ")
    assert len(command_line.launches("one")) == 1


def test_a_port_somebody_listens_on(command_line: CommandLine) -> None:
    with socket.socket() as stranger:
        stranger.bind(("127.0.0.1", 0))
        stranger.listen()
        port = stranger.getsockname()[1]
        assert_refused(command_line, "--model", MODEL, "--port", str(port), says=f"port {port} on 127.0.0.1 is taken")
        assert_refused(
            command_line, "--model", MODEL, "--", f"--port={port}", says=f"port {port} on 127.0.0.1 is taken"
        )
    assert command_line.launches("qwen3-0.6b") == []


def test_a_port_that_another_server_of_ours_will_open_when_it_has_loaded(
    command_line: CommandLine, unused_tcp_port: int
) -> None:
    command_line.environ["SGLTUI_SIM"] = "hang=weight load"
    command_line.ok("launch", "--model", MODEL, "--name", "one", "--port", str(unused_tcp_port))
    port = str(unused_tcp_port)
    assert_refused(command_line, "--model", MODEL, "--name", "two", "--port", port, says=f"port {port} belongs to one")


def test_a_gpu_that_is_not_there(command_line: CommandLine) -> None:
    assert_refused(command_line, "--model", MODEL, "--on", "7", says="there is no GPU 7; this machine has: 0, 1")


def test_more_ranks_than_gpus(command_line: CommandLine) -> None:
    assert_refused(command_line, "--model", MODEL, "--", "--tp", "4", says="need 4 GPUs, and 2 can be used")


def test_a_model_path_that_is_missing(command_line: CommandLine) -> None:
    assert_refused(command_line, "--model", "/no/such/model", says="the model path /no/such/model doesn't exist")
    assert_refused(command_line, "--model", str(command_line.machine.directory), says="has no config.json")


def test_an_unknown_preset_and_a_broken_one(command_line: CommandLine) -> None:
    path = command_line.write_preset("broken", 'model = "x"\n[launch]\nport = "many"\n')
    command_line.write_preset("good", 'model = "Qwen/Qwen3-0.6B"\n')
    assert_refused(command_line, "godo", says="good", status=2)
    assert_refused(command_line, "broken", says=str(path), status=2)
    done = command_line.run("preset", "list")
    assert done.returncode == 1
    assert "good" in done.stdout
    assert f"{path}:3: launch.port is 'many'" in done.stderr


@pytest.mark.parametrize("model", ["~nosuchuser/x/y", "/" + "x" * 300, "\udcff/x/y"])
def test_a_model_that_cannot_even_be_looked_for(command_line: CommandLine, model: str) -> None:
    assert_refused(command_line, "--model", model, "--name", "one", says="sgltui: ")
    assert command_line.launches("one") == []


def test_a_host_that_is_none(command_line: CommandLine) -> None:
    assert_refused(command_line, "--model", MODEL, "--", "--host", "a..b", says="'a..b' is no address of this machine")


def test_a_secret_that_is_not_there(command_line: CommandLine) -> None:
    command_line.write_preset("secret", 'model = "x/y"\n[flags]\napi-key = { env = "NO_SUCH_KEY_HERE" }\n')
    assert_refused(command_line, "secret", says="NO_SUCH_KEY_HERE, which isn't set")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to make a small file system")
def test_a_full_disk(command_line: CommandLine) -> None:
    small = command_line.places.state
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(small)], check=False, capture_output=True
    )
    if mounted.returncode != 0:
        pytest.skip("mounting isn't allowed here")
    try:
        assert_refused(command_line, "--model", MODEL, says=f"the disk of {small}/instances is full")
    finally:
        subprocess.run(["umount", str(small)], check=True)


def test_no_permission_to_write(command_line: CommandLine) -> None:
    # A file where the folder should be: refused by the kernel for root too, unlike a mode.
    blocked = command_line.places.state
    blocked.rmdir()
    blocked.write_text("")
    assert_refused(command_line, "--model", MODEL, says=f"can't write launches to {blocked}/instances: Not a directory")


def test_no_python_with_sglang(command_line: CommandLine) -> None:
    command_line.machine.python.unlink()
    assert_refused(command_line, "--model", MODEL, says=f"no Python at {command_line.machine.python}")


# Wrong usage --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["launch"], "give either a preset or --model"),
        (["launch", "x", "--model", "y"], "give either a preset or --model"),
        (["launch", "--model", "m", "--name", "../x"], "can't be a server's name"),
        (["launch", "--model", "m", "--on", "first"], "names no GPU"),
        (["launch", "--model", "m", "--port", "99999"], "isn't a port"),
        (["logs", "nobody"], "no server named 'nobody'; known names: none yet"),
        (["ps", "--", "--tp", "2"], "take flags behind `--`"),
        (["dance"], "invalid choice: 'dance'"),
        (["--read-only", "stop", "x"], "--read-only: nothing is changed"),
        (["--read-only", "launch", "--model", "m"], "--read-only: nothing is changed"),
        (["--read-only", "test", "x"], "--read-only: nothing is changed"),  # its answer would be kept
        (["--read-only", "relaunch", "nobody", "--dry-run"], "no server named 'nobody'"),
        (["launch", "--model", "m", "--timeout", "3"], "--timeout goes with --wait"),
        (["ui"], "the UI needs a terminal"),
    ],
)
def test_wrong_usage_is_status_2_and_says_what_is_right(command_line: CommandLine, words: list[str], says: str) -> None:
    done = command_line.run(*words)
    assert done.returncode == 2
    assert says in done.stderr
