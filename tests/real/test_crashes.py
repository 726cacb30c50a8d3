"""Servers that lose one of their processes, and one that fails at its first request."""

from __future__ import annotations

import os
import signal
from http.client import HTTPException

import pytest

from tests.real.machine import RealMachine
from tests.real.servers import RealServer
from tests.support.waiting import wait_until

# 0.5.23 waits 60 s for core dumps of GPUs before it leaves.
END_LIMIT_S = 150


def assert_ended(machine: RealMachine, server: RealServer, state: str = "failed", *, was_ready: bool) -> None:
    """It is over, the product says so, and nothing of it is left."""
    wait_until(server.files.exit.exists, END_LIMIT_S, f"an end on record: {server.log[-2000:]}")
    ended = server.wait_for_end()
    assert (ended["state"], ended["asked"], ended["was_ready"]) == (state, False, was_ready)
    assert (ended["returncode"], ended["signal"]) == (-9, "SIGKILL")
    assert ended["stop"]["survivors"] == []
    assert ended["stop"]["port_free"] is True
    assert server.processes() == {}
    row = machine.ps(server.read().launch.name)
    assert (row["state"], row["pid"], row["memory_gib"]) == (state, None, None)
    assert row["cause"]


@pytest.mark.parametrize("victim", ["main", "sglang::scheduler", "sglang::detokenizer"])
def test_a_process_of_a_ready_server_is_killed(real_machine: RealMachine, victim: str) -> None:
    server = real_machine.launch_and_wait("one")
    os.kill(server.pid if victim == "main" else server.find(victim), signal.SIGKILL)
    # Its children die with the main process, and its log tells of no error: there was none.
    assert_ended(real_machine, server, "exited" if victim == "main" else "failed", was_ready=True)


def test_the_main_process_is_killed_while_its_children_import(real_machine: RealMachine) -> None:
    """They would load the whole model, and one of them would stay for ever: their keeper ends them."""
    server = real_machine.launch("one")
    server.wait_for_import()
    children = set(server.processes()) - {server.pid}
    os.kill(server.pid, signal.SIGKILL)
    assert_ended(real_machine, server, was_ready=False)
    assert children <= set(server.exit()["stop"]["stopped"])


def test_a_hybrid_model_is_ready_and_fails_at_its_first_request(real_machine: RealMachine) -> None:
    """Its pools are sized by SGLang's own arithmetic; the kernels that it would need aren't there."""
    server = real_machine.launch_and_wait("one", "--load-format", "dummy", "--skip-server-warmup", preset="hybrid")
    assert "Mamba Cache is allocated. max_mamba_cache_size: " in server.log
    with pytest.raises((OSError, HTTPException)):
        server.chat()
    assert_ended(real_machine, server, was_ready=True)
    cause = real_machine.ps("one")["cause"]
    assert cause.startswith("RuntimeError: sgl_kernel.mamba.causal_conv1d_fn_cpu: the kernel package is a stand-in")
