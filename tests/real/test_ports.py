"""The port goes to somebody else between the product's look at it and SGLang's own, which comes last of all."""

from __future__ import annotations

import os
import signal
import socket
from pathlib import Path

from tests.real.machine import RealMachine
from tests.real.servers import READY_LINE, START_LIMIT_S, choose_port
from tests.support.waiting import wait_until

BIND_ERROR = "[Errno 98] error while attempting to bind on address"


def test_a_stranger_takes_the_port_while_it_loads(real_machine: RealMachine) -> None:
    """SGLang then waits two minutes with everything loaded, for an answer from the stranger."""
    server = real_machine.launch("one")
    server.wait_for_log("server_args=")
    with socket.create_server(("127.0.0.1", server.port)):
        server.wait_for_log(BIND_ERROR)
        row = real_machine.ps("one")
        assert row["state"] in {"starting", "loading", "failed"}
        real_machine.run("stop", "one")
    assert server.processes() == {}
    assert "ready" not in server.states_until(server.state)
    assert real_machine.ps("one")["state"] in {"stopped", "failed"}


def test_another_sglang_takes_the_port(real_machine: RealMachine, tmp_path: Path) -> None:
    """Somebody started one by hand just before: our log says ready, since our warm-up reaches the other server."""
    port = choose_port()
    log = tmp_path / "by-hand.log"
    other = real_machine.start_by_hand(port, log)
    try:
        wait_until(lambda: b"server_args=" in log.read_bytes(), START_LIMIT_S, "a head start")
        ours = real_machine.launch("one", port=port)
        ours.wait_for_log(BIND_ERROR)
        ended = ours.wait_for_end()
        assert READY_LINE in ours.log, "which is why the line isn't believed"
        assert "ready" not in ours.states_until("failed")
        assert (ended["state"], ended["was_ready"]) == ("failed", False)
        assert BIND_ERROR in real_machine.ps("one")["cause"]
        assert ours.processes() == {}
        assert ours.chat() == "length", "the other one's answer"
        assert other.poll() is None
    finally:
        os.killpg(other.pid, signal.SIGKILL)
        other.wait()
