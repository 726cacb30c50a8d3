"""How simulated servers end, against recordings of how the real ones did."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.ports import free_port
from tests.support.recordings import is_tokenizer_line, kinds, recorded, recorded_run
from tests.support.simulated import (
    Server,
    read_command,
    read_gpu,
    read_titles,
    send_endless_request,
    used,
)
from tests.support.waiting import wait_until
from tui.simulator.machine import RELEASES, Machine

GIB = 1 << 30


def interrupt(server: Server) -> None:
    server.process.send_signal(signal.SIGINT)


def terminate(server: Server) -> None:
    server.process.terminate()


def terminate_group(server: Server) -> None:
    os.killpg(server.process.pid, signal.SIGTERM)


def kill(server: Server) -> None:
    server.process.kill()


def kill_scheduler(server: Server) -> None:
    os.kill(server.find("sglang::scheduler"), signal.SIGKILL)


def kill_detokenizer(server: Server) -> None:
    os.kill(server.find("sglang::detokenizer"), signal.SIGKILL)


@pytest.mark.parametrize(
    ("release", "name", "end"),
    [
        ("0.5.11", "term", terminate),
        ("0.5.23", "solo", terminate),
        ("0.5.11", "clean", interrupt),
        ("0.5.23", "llama", interrupt),
        ("0.5.11", "kill", kill),
        ("0.5.11", "killsched", kill_scheduler),
        ("0.5.23", "killsched", kill_scheduler),
        ("0.5.11", "killdetok", kill_detokenizer),
        ("0.5.11", "termgrp", terminate_group),
    ],
)
def test_it_ends_like_the_real_one(
    release: str,
    name: str,
    end: Callable[[Server], None],
    make_machine: Callable[..., Machine],
    start_server: Callable[..., Server],
) -> None:
    """The same exit status and last lines, nobody left, and no memory held."""
    machine = make_machine(release=release)
    server = start_server(machine)
    server.wait_until_ready()
    assert used(machine) > GIB
    before = len(server.log)

    end(server)

    assert server.wait_for_end() == recorded_run(release, name)["returncode"]
    wait_until(lambda: not server.members(), what="nobody left")
    assert used(machine) == 0
    last = kinds(server.log[before:])
    theirs = kinds(recorded(release, name))
    if end is terminate_group:
        return  # whether the drain or the watcher comes first is a matter of milliseconds
    if end is interrupt:  # the recorder's poll was still running, and one watcher saw its scheduler being killed
        theirs = [line for line in theirs if "Subprocess scheduler" not in line and "Prefill batch" not in line]
    assert last == theirs[len(theirs) - len(last) :]


@pytest.mark.parametrize(
    ("release", "name", "flags"),
    [
        ("0.5.11", "badflag", ["--no-such-flag", "3"]),
        ("0.5.11", "badvalue", ["--mem-fraction-static", "abc"]),
        ("0.5.23", "badflag", ["--no-such-flag", "3"]),
        ("0.5.23", "badchoice", ["--attention-backend", "nosuch"]),
    ],
)
def test_a_wrong_word_ends_in_the_usage_like_the_real_one(
    release: str,
    name: str,
    flags: list[str],
    make_machine: Callable[..., Machine],
    start_server: Callable[..., Server],
) -> None:
    server = start_server(make_machine(release=release), *flags)
    assert server.wait_for_end() == recorded_run(release, name)["returncode"] == 2
    last, theirs = server.log.splitlines()[-1], recorded(release, name).splitlines()[-1]
    # Later Pythons quote the choices in another way.
    assert last.partition(" (choose from")[0] == theirs.partition(" (choose from")[0]
    assert "usage: sglang serve [-h] --model-path MODEL_PATH" in server.log


@pytest.mark.parametrize("release", RELEASES)
def test_too_little_memory_fails_like_the_real_one(
    release: str, make_machine: Callable[..., Machine], start_server: Callable[..., Server]
) -> None:
    server = start_server(make_machine(release=release), "--mem-fraction-static", "0.00001")
    assert server.wait_for_end() == recorded_run(release, "notenough")["returncode"]
    assert "\n\n[" in server.log
    assert "\n\n\n" not in server.log
    marker = "Scheduler hit an exception"
    ends = (log[log.index(marker) :] for log in (server.log, recorded(release, "notenough")))
    # Without the detokenizer's own lines, which may come late, or never.
    ours, theirs = ([line for line in kinds(end) if not is_tokenizer_line(line)] for end in ends)
    assert ours == theirs


def test_a_model_that_is_not_there_ends_like_the_real_one(
    simulated_machine: Machine, tmp_path: Path, start_server: Callable[..., Server]
) -> None:
    server = start_server(simulated_machine, model=str(tmp_path / "no-such-model"))
    assert server.wait_for_end() == recorded_run("0.5.11", "nomodel")["returncode"] == 1
    assert server.log.splitlines()[-2:] == recorded("0.5.11", "nomodel").splitlines()[-2:]


def test_sigterm_before_it_is_ready_kills_it_at_once(
    simulated_machine: Machine, start_server: Callable[..., Server]
) -> None:
    server = start_server(simulated_machine, env={"SGLTUI_SIM": "hang=weight load"})
    server.wait_for_log("Load weight begin")
    wait_until(lambda: len(read_titles(server)) == 2, what="both titles")
    server.process.terminate()
    assert server.wait_for_end() == -signal.SIGTERM
    wait_until(lambda: not server.members(), what="children die with their parent")
    assert "SIGTERM received" not in server.log


@pytest.mark.parametrize("release", RELEASES)
def test_a_scheduler_that_dies_early_is_an_error_of_the_main_process(
    release: str, make_machine: Callable[..., Machine], start_server: Callable[..., Server]
) -> None:
    """Status and words as they were seen of both releases, whose scheduler got SIGKILL while it imported."""
    server = start_server(make_machine(release=release), env={"SGLTUI_SIM": "hang=import"})
    wait_until(lambda: len(importing(server)) == 2, what="both children")
    os.kill(min(importing(server)), signal.SIGKILL)
    assert server.wait_for_end() == 1
    assert server.log.splitlines()[-1] == (
        "RuntimeError: Rank 0 scheduler died during initialization (exit code: -9). If exit code is -9 (SIGKILL), a "
        "common cause is the OS OOM killer. Run `dmesg -T | grep -i oom` to check."
    )
    wait_until(lambda: not server.members(), what="nobody left")


def importing(server: Server) -> list[int]:
    return [pid for pid in server.members() if "spawn_main" in read_command(pid)]


def test_sigint_closes_the_port_and_waits_for_a_running_request(
    simulated_machine: Machine, start_server: Callable[..., Server]
) -> None:
    server = start_server(simulated_machine)
    server.wait_until_ready()
    client = send_endless_request(server)
    server.process.send_signal(signal.SIGINT)
    server.wait_for_log("Waiting for connections to close. (CTRL+C to force quit)")
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", server.port))
    assert server.process.poll() is None
    assert used(simulated_machine) > GIB
    client.close()
    assert server.wait_for_end() == 0


def test_sigterm_waits_for_a_running_request(simulated_machine: Machine, start_server: Callable[..., Server]) -> None:
    server = start_server(simulated_machine)
    server.wait_until_ready()
    client = send_endless_request(server)
    assert read_gpu(simulated_machine).utilization_percent == 97
    server.process.terminate()
    server.wait_for_log("Gracefully exiting... Remaining number of requests 1.", count=3)
    assert server.get("/health").status == 503
    assert server.process.poll() is None

    client.close()
    assert server.wait_for_end() == -signal.SIGKILL
    assert "Gracefully exiting... Remaining number of requests 0. Remaining requests remaining_rids=[]." in server.log


@pytest.mark.parametrize("by_sglang", [False, True])
def test_a_taken_port_is_noticed_after_everything_was_loaded(
    by_sglang: bool, simulated_machine: Machine, start_server: Callable[..., Server]
) -> None:
    """Another program's: it waits, then dies. Another server's: it says it is ready, and ends with status 3."""
    port = free_port()
    with socket.socket() as taken:
        if by_sglang:
            start_server(simulated_machine, "--mem-fraction-static", "0.3", port=port).wait_until_ready()
        else:
            taken.bind(("127.0.0.1", port))
            taken.listen()
            threading.Thread(target=answer_nothing, args=(taken,), daemon=True).start()
        server = start_server(simulated_machine, "--mem-fraction-static", "0.5", port=port)
        name = "portinuse-bysglang" if by_sglang else "portinuse-long"
        assert server.wait_for_end() == recorded_run("0.5.11", name)["returncode"]
    assert "max_total_num_tokens=" in server.log
    assert f"[Errno 98] error while attempting to bind on address ('127.0.0.1', {port}): address" in server.log
    assert ("fired up" in server.log) is by_sglang


def answer_nothing(taken: socket.socket) -> None:
    try:
        while True:
            taken.accept()[0].close()
    except OSError:
        return  # the test is over
