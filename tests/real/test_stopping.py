"""Stopping a real server while it starts, and while it works."""

from __future__ import annotations

from tests.real.machine import Engine, RealMachine
from tests.real.make_model import CONTEXT
from tests.real.servers import RETURN_CODES, Stream
from tests.support.waiting import wait_until

LIMIT_S = 300


def start_stream(machine: RealMachine, tokens: int) -> Stream:
    """A ready server with a request that has begun to be answered."""
    stream = Stream(machine.launch_and_wait("one"), tokens)
    stream.start()
    wait_until(lambda: stream.lines or not stream.is_alive(), LIMIT_S, "the first token")
    assert stream.is_alive(), stream.trouble
    return stream


def test_stop_while_its_children_import(real_machine: RealMachine) -> None:
    server = real_machine.launch("one")
    server.wait_for_import()
    processes = set(server.processes())
    report = real_machine.stop("one")
    assert server.processes() == {}
    assert processes <= set(report["stopped"])
    assert real_machine.ps("one")["state"] == "stopped"
    assert server.states_until("stopped") == ["starting", "stopping", "stopped"]
    assert (server.exit()["returncode"], server.exit()["signal"]) == (-15, "SIGTERM")


def test_a_request_is_finished_within_the_grace(real_machine: RealMachine, engine: Engine) -> None:
    stream = start_stream(real_machine, tokens=300)
    server = real_machine.find("one")
    real_machine.stop("one", "--grace", str(LIMIT_S))
    stream.join(LIMIT_S)
    assert stream.is_complete, stream.trouble
    assert server.processes() == {}
    assert server.exit()["returncode"] == RETURN_CODES[engine.release]


def test_a_request_that_outlasts_the_grace_is_killed(real_machine: RealMachine) -> None:
    stream = start_stream(real_machine, tokens=CONTEXT - 100)
    server = real_machine.find("one")
    real_machine.stop("one", "--grace", "1")
    stream.join(LIMIT_S)
    assert not stream.is_complete
    assert server.processes() == {}
    assert (server.exit()["returncode"], server.exit()["signal"]) == (-9, "SIGKILL")
    assert real_machine.ps("one")["state"] == "stopped"
