"""Servers of several schedulers: pipeline stages, and copies of the model under a controller."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable

import pytest

from tests.support.simulated import Server, ask_endlessly, read_command, used
from tests.support.waiting import wait_until
from tui.simulator.machine import Machine, default_gpus, make_gpu

GIB = 1 << 30
CONTROLLER = "sglang::data_parallel_controller"


def parents(server: Server) -> dict[str, str]:
    """The title of every child that has one, with that of its parent ("" is the main process)."""
    members = server.members()
    titles = {pid: read_command(pid) for pid in members}
    titles[server.process.pid] = ""
    return {titles[pid]: titles[stat.ppid] for pid, stat in members.items() if titles[pid].startswith("sglang::")}


def test_copies_of_the_model_are_under_a_controller(
    simulated_machine: Machine, start_server: Callable[..., Server]
) -> None:
    server = start_server(simulated_machine, "--dp", "2")
    server.wait_until_ready()
    assert parents(server) == {
        CONTROLLER: "",
        "sglang::detokenizer": "",
        "sglang::scheduler_DP0": CONTROLLER,
        "sglang::scheduler_DP1": CONTROLLER,
    }
    assert used(simulated_machine, 0) == used(simulated_machine, 1) > GIB
    assert "] Launch DP0 starting at GPU #0.\n" in server.log
    assert "] Launch DP1 starting at GPU #1.\n" in server.log
    for _ in range(4):
        answer = server.post("/generate", {"text": "a b", "sampling_params": {"max_new_tokens": 3}})
        assert answer.json()["meta_info"]["completion_tokens"] == 3
    assert [server.log.count(f" DP{index}] Prefill batch, #new-seq: 1, #new-token: 2,") for index in range(2)] == [2, 2]
    client = ask_endlessly(server.port)
    running: list[int] = []

    def one_of_them_has_it() -> bool:
        running[:] = [load["num_running_reqs"] for load in server.get("/v1/loads").json()["loads"]]
        return sorted(running) == [0, 1]

    wait_until(one_of_them_has_it, what=f"one of both copies runs it: {running}")
    client.close()
    told = server.get("/server_info").json()
    assert len(told["internal_states"]) == 2
    assert told["scheduler_pids"] == [server.find(f"sglang::scheduler_DP{index}") for index in range(2)]
    server.process.terminate()
    assert server.wait_for_end() == -signal.SIGKILL
    wait_until(lambda: not server.members(), what="nobody left")
    assert used(simulated_machine, 0) == used(simulated_machine, 1) == 0


def test_pipeline_stages_share_the_model(
    make_machine: Callable[..., Machine], start_server: Callable[..., Server]
) -> None:
    machine = make_machine(gpus=[*default_gpus(), make_gpu(2), make_gpu(3)])
    server = start_server(machine, "--pp-size", "2", "--tp", "2", "--base-gpu-id", "0", model="Qwen/Qwen3-32B")
    server.wait_until_ready()
    titles = [f"sglang::scheduler_PP{pp}_TP{tp}" for pp in range(2) for tp in range(2)]
    assert parents(server) == dict.fromkeys([*titles, "sglang::detokenizer"], "")
    loaded = re.findall(r" (PP\d TP\d)\] Load weight end.* mem usage=([\d.]+) GB", server.log)
    # 61.02 GiB in four parts, and a little for loading.
    assert sorted(loaded) == [(title[-7:].replace("_", " "), "15.32") for title in titles]
    assert sorted(re.findall(r" (PP\d TP\d)\] max_total_num_tokens=", server.log)) == ["PP0 TP0", "PP1 TP0"]


def test_experts_have_a_number_in_the_title(simulated_machine: Machine, start_server: Callable[..., Server]) -> None:
    server = start_server(simulated_machine, "--tp", "2", "--ep-size", "2", "--mem-fraction-static", "0.5")
    server.wait_until_ready()
    assert {"sglang::scheduler_TP0_EP0", "sglang::scheduler_TP1_EP1"} <= set(parents(server))


def test_a_failing_copy_takes_all_down(simulated_machine: Machine, start_server: Callable[..., Server]) -> None:
    """Its SIGQUIT ends the controller, since nobody handles it there; the main process sees that one die."""
    server = start_server(simulated_machine, "--dp", "2", env={"SGLTUI_SIM": "fail=runtime"})
    server.wait_until_ready()
    with pytest.raises(OSError, match=r"Remote end closed connection|reset by peer"):
        server.post("/generate", {"text": "a b"})
    assert server.wait_for_end() == -signal.SIGKILL
    assert re.search(
        r"\] Subprocess scheduler_0 \(pid=\d+\) crashed with exit code -3\. Triggering SIGQUIT", server.log
    )
    wait_until(lambda: not server.members(), what="nobody left")


def test_a_copy_that_fails_to_start_takes_all_down(
    simulated_machine: Machine, start_server: Callable[..., Server]
) -> None:
    """As it was seen of 0.5.23: exit status 1, and not -9 as where the schedulers are the main process's own."""
    server = start_server(simulated_machine, "--dp", "2", env={"SGLTUI_SIM": "fail=weight load"})
    assert server.wait_for_end() == 1
    assert "RuntimeError: Rank 0 scheduler died during initialization (exit code: -3). If exit code is -9" in server.log
    wait_until(lambda: not server.members(), what="nobody left")


def test_a_killed_copy_goes_unnoticed(simulated_machine: Machine, start_server: Callable[..., Server]) -> None:
    """Nobody watches over the controller's children. The first copy had the warm-up, so the other is next."""
    server = start_server(simulated_machine, "--dp", "2")
    server.wait_until_ready()
    os.kill(server.find("sglang::scheduler_DP0"), signal.SIGKILL)
    wait_until(lambda: used(simulated_machine, 0) == 0, what="it is gone")
    assert server.post("/generate", {"text": "a", "sampling_params": {"max_new_tokens": 1}}).status == 200
    assert server.process.poll() is None


@pytest.mark.parametrize(
    "flags", [("--nnodes", "2"), ("--enable-dp-attention",), ("--tokenizer-worker-num", "2"), ("--use-ray",)]
)
def test_other_trees_are_refused(
    flags: tuple[str, ...], simulated_machine: Machine, start_server: Callable[..., Server]
) -> None:
    server = start_server(simulated_machine, *flags)
    assert server.wait_for_end() == 2
    assert server.log.endswith(f"sglang serve: error: argument {flags[0]}: not simulated\n")
