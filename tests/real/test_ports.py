"""The port goes to somebody else between the product's look at it and SGLang's own, which comes last of all."""

from __future__ import annotations

import socket
from collections.abc import Callable

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
    assert "ready" not in server.states()
    assert real_machine.ps("one")["state"] in {"stopped", "failed"}


def test_another_sglang_takes_the_port(make_real_machine: Callable[[str], RealMachine]) -> None:
    """Two people start a server on one port: the loser's log says ready, since its warm-up reaches the winner."""
    port = choose_port()
    machines = [make_real_machine(name) for name in ("mine", "theirs")]
    servers = [machine.launch("one", port=port) for machine in machines]
    wait_until(lambda: any(BIND_ERROR in server.log for server in servers), START_LIMIT_S, "a loser")
    loser = next(server for server in servers if BIND_ERROR in server.log)
    winner = next(server for server in servers if server is not loser)
    winner.wait_for("ready")
    ended = loser.wait_for_end()
    assert READY_LINE in loser.log, "which is why the line isn't believed"
    assert "ready" not in loser.states()
    assert (ended["state"], ended["was_ready"]) == ("failed", False)
    lost = machines[servers.index(loser)]
    assert BIND_ERROR in lost.ps("one")["cause"]
    assert loser.processes() == {}
    assert winner.chat() == "length"
    assert machines[servers.index(winner)].ps("one")["state"] == "ready"
