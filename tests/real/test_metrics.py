"""Live figures, readiness and a smoke request, of real servers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.real.machine import Engine, RealMachine
from tests.real.servers import RealServer, Stream
from tests.support.waiting import wait_until

ASKED = re.compile(r'"(?:GET|POST) (\S+) HTTP')


def asked(server: RealServer) -> list[str]:
    return ASKED.findall(server.log)


def look(machine: RealMachine, holds: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """Its row in `ps --json`, once that holds: on a busy machine `ps` may not wait long enough for figures."""
    row: dict[str, Any] = {}

    def is_so() -> bool:
        row.update(machine.ps("one"))
        return holds(row)

    wait_until(is_so, 60, f"in {row}")
    return row


@pytest.mark.parametrize("flags", [("--enable-metrics",), ()], ids=["metrics", "loads"])
def test_live_figures_of_a_running_request(real_machine: RealMachine, engine: Engine, flags: tuple[str, ...]) -> None:
    server = real_machine.launch_and_wait("one", *flags, "--api-key", "sk-secret-1234")
    # Ready by what costs nothing: of 0.5.23 after its warm-up, and never by a generation of ours.
    assert {"0.5.11": "/model_info", "0.5.23": "/ready"}[engine.release] in asked(server)
    assert not any(path.startswith("/health") for path in asked(server))
    server.wait_for_log("fired up and ready")

    source = "/metrics" if flags else "/v1/loads"
    # The warm-up's own request is over, but nothing says so: for some seconds it counts.
    row = look(real_machine, lambda row: row["live_source"] == source and row["requests"]["running"] == 0)
    assert row["live_trouble"] is None
    assert (row["requests"]["queued"], row["kv_tokens"]) == (0, 4096)
    assert row["slot_usage"] is None
    assert row["accept_length"] is None

    done = real_machine.run("test", "one", "--json")
    smoke = json.loads(done.stdout)
    assert (done.returncode, smoke["ok"], smoke["error"]) == (0, True, None)
    assert 1 <= smoke["completion_tokens"] <= 48
    assert json.loads((server.files.directory / "smoke.json").read_text())["ok"] is True

    stream = Stream(server, 1000, api_key="sk-secret-1234")
    stream.start()
    server.wait_for_log("Decode batch")
    before = len(asked(server))
    look(real_machine, lambda row: row["requests"]["running"] == 1 and (row["kv_usage"] or 0) > 0)
    assert set(asked(server)[before:]) <= {source, "/generate"}

    told = json.loads((server.files.directory / "diagnosis.json").read_bytes())["memory"]["server"]
    assert told["kv_tokens"] == 4096
    assert told["max_running_requests"] > 0
    assert ("startup_available_gib" in told) == (engine.release == "0.5.23")
    files = [path for path in server.files.directory.iterdir() if path.is_file() and path.name != "server.log"]
    assert not any(b"sk-secret" in path.read_bytes() for path in files)
    real_machine.stop("one", "--kill")


def test_a_small_load(real_machine: RealMachine) -> None:
    real_machine.launch_and_wait("one", "--enable-metrics")
    result = json.loads(real_machine.ok("test", "one", "--requests", "4", "--concurrency", "2", "--json"))
    assert (result["done"], result["errors"]) == (4, {})
    assert result["completion_tokens"] == 4 * 128
    assert max(sample["running"] or 0 for sample in result["samples"]) in (1, 2)
    real_machine.stop("one", "--kill")


@pytest.mark.parametrize("flags", [("--enable-metrics",), ()], ids=["metrics", "loads"])
def test_a_loaded_server_is_limited_by_its_places(real_machine: RealMachine, flags: tuple[str, ...]) -> None:
    """While it prefills, neither source counts those that have just begun; the log does."""
    real_machine.launch_and_wait("one", *flags, "--max-running-requests", "2")
    result = json.loads(real_machine.ok("test", "one", "--requests", "24", "--concurrency", "8", "--json"))
    assert (result["done"], result["errors"]) == (24, {})
    assert result["limit"]["bound"] == "max-running-requests", result
    real_machine.stop("one", "--kill")
