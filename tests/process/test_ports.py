"""Ports are promised machine-wide, because SGLang binds its own only minutes after its start."""

from __future__ import annotations

import socket
from collections.abc import Callable

import pytest

from tests.support.command_line import CommandLine
from tests.support.waiting import wait_until
from tui.errors import RefusedError
from tui.launch.ports import choose_port
from tui.simulator.machine import Machine

MODEL = "Qwen/Qwen3-0.6B"


def test_a_promised_port_is_chosen_by_nobody_else_until_it_is_given_back(unused_tcp_port: int) -> None:
    first = choose_port([], "127.0.0.1", unused_tcp_port, 30000)
    with pytest.raises(RefusedError, match=f"port {unused_tcp_port} is promised"):
        choose_port([], "127.0.0.1", unused_tcp_port, 30000)
    second = choose_port([], "127.0.0.1", None, unused_tcp_port)
    assert second.port > unused_tcp_port
    first.close()
    choose_port([], "127.0.0.1", unused_tcp_port, 30000).close()
    second.close()


def test_a_port_that_somebody_listens_on_is_passed_over_on_any_address() -> None:
    with socket.socket() as stranger:
        stranger.bind(("0.0.0.0", 0))
        stranger.listen()
        port = stranger.getsockname()[1]
        chosen = choose_port([], "127.0.0.1", None, port)
        assert chosen.port > port
        chosen.close()


def test_a_loading_server_of_another_state_folder_keeps_its_port(
    command_line: CommandLine, make_machine: Callable[..., Machine], unused_tcp_port: int
) -> None:
    launch = ("launch", "--model", MODEL, "--port", str(unused_tcp_port))
    command_line.environ["SGLTUI_SIM"] = "hang=weight load"
    command_line.ok(*launch)
    neighbour = CommandLine(make_machine("a neighbour's"))
    done = neighbour.run(*launch)
    assert done.returncode == 1
    assert f"port {unused_tcp_port} is promised to a server of another user or state folder" in done.stderr
    command_line.ok("stop", "qwen3-0.6b", "--kill")
    assert neighbour.run(*launch, "--wait").returncode == 0
    neighbour.ok("stop", "qwen3-0.6b")


def test_the_promise_ends_with_the_launch(command_line: CommandLine, unused_tcp_port: int) -> None:
    command_line.environ["SGLTUI_SIM"] = "fail=memory pool"
    command_line.run("launch", "--model", MODEL, "--port", str(unused_tcp_port), "--wait")

    def is_free() -> bool:
        try:
            choose_port([], "127.0.0.1", unused_tcp_port, 30000).close()
        except RefusedError:
            return False
        return True

    wait_until(is_free, what="the promise given back")
