"""Live figures, smoke requests and small loads, from the command line and a simulated server."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from tests.support.command_line import CommandLine
from tests.support.simulated import Server, send_endless_request
from tests.support.waiting import wait_until
from tui.gpu.simulated import SimulatedReader
from tui.metrics.exposition import parse_metrics
from tui.metrics.live import Figures
from tui.metrics.loads import parse_loads
from tui.observe import Observer
from tui.simulator.machine import Machine

ASKED = re.compile(r'"(GET|POST) (\S+) HTTP')


def asked(line: CommandLine, name: str) -> list[str]:
    log = line.launches(name)[-1] / "server.log"
    return [match[2] for match in ASKED.finditer(log.read_text(errors="replace"))]


def start(line: CommandLine, name: str, *flags: str) -> None:
    line.ok("launch", "qwen3-0.6b", "--name", name, "--force", "--wait", "--", *flags)


def test_a_server_with_metrics_is_asked_once_and_tested(command_line: CommandLine) -> None:
    line = command_line
    start(line, "one", "--enable-metrics", "--api-key", "sk-secret", "--max-running-requests", "4")
    before = asked(line, "one")
    row = line.ps_live("one")
    assert row["requests"] == {"running": 0, "queued": 0, "max": row["requests"]["max"]}
    assert (row["tokens_per_s"], row["live_source"], row["live_trouble"]) == (0, "/metrics", None)
    assert row["kv_usage"] == 0
    assert set(asked(line, "one")[len(before) :]) <= {"/server_info", "/metrics"}

    result = line.json("test", "one", "--requests", "12", "--concurrency", "8")
    assert (result["done"], result["errors"]) == (12, {})
    assert result["completion_tokens"] == 12 * 128
    assert 0 < result["latency_s"]["p50"] <= result["latency_s"]["max"]
    assert max(sample["running"] or 0 for sample in result["samples"]) <= 4  # it may be over between two looks
    assert all(sample["memory_gib"] > 0 for sample in result["samples"])
    assert result["limit"]["bound"] not in {"KV cache", "state slots"}  # the rest is a matter of when it looked
    text = line.ok("test", "one", "--requests", "2", env={"PYTHONIOENCODING": "ascii"})
    assert "2 of 2 requests" in text
    assert text.isascii()
    assert line.run("test", "one", "--concurrency", "2").returncode == 2
    assert "sgltui_server_requests_running" in line.ok("ps", "--prometheus", env={"PYTHONIOENCODING": "ascii"})
    assert line.run("ps", "--prometheus", "--watch").returncode == 2

    line.ok("stop", "one", "--kill")
    done = line.run("test", "one")
    assert done.returncode == 1
    assert "isn't ready: it is stopped" in done.stderr
    assert line.run("test", "nobody").returncode == 2


def test_a_server_without_metrics_tells_by_its_loads_and_answers_a_smoke_request(command_line: CommandLine) -> None:
    """/v1/loads asks for the key of its command line, which nothing of ours keeps."""
    line = command_line
    start(line, "two", "--api-key", "sk-secret")
    row = line.ps_live("two")
    assert (row["requests"]["running"], row["live_source"], row["live_trouble"]) == (0, "/v1/loads", None)
    done = line.run("test", "two", "--json")
    result = json.loads(done.stdout)
    assert (done.returncode, result["ok"], result["error"]) == (0, True, None)
    assert result["completion_tokens"] > 1
    assert result["time_to_first_token_s"] > 0
    assert result["tokens_per_s"] > 0
    smoke = json.loads((line.launches("two")[-1] / "smoke.json").read_text())
    assert smoke["at"] == result["at"]
    files = [path for path in line.launches("two")[-1].iterdir() if path.is_file() and path.name != "server.log"]
    assert not any(b"sk-secret" in path.read_bytes() for path in files)


def test_nobody_asks_while_nobody_looks_and_bad_answers_are_said(command_line: CommandLine) -> None:
    line = command_line
    # On demand it answers every GET, its own warm-up's apart, with 503: here from the moment on that it is ready.
    start(line, "one", "--enable-metrics")
    observer = Observer(line.places, SimulatedReader(line.machine.directory), live_wait_s=20.0)
    [seen] = observer.observe().instances
    assert seen.live is not None
    assert seen.live.source == "/metrics"
    again = observer.observe().instances[0].live
    assert again == seen.live  # the next question isn't due yet
    assert observer.history(f"{seen.name}/{seen.launch}") == (seen.live,)
    asked_before = len(asked(line, "one"))
    wait_until(lambda: line.run("ps").returncode == 0)  # another process asks
    assert len(asked(line, "one")) <= asked_before + 2
    silent = Observer(line.places, SimulatedReader(line.machine.directory))
    assert silent.observe().instances[0].live is None


def test_more_requests_than_may_run_at_once_wait(
    make_machine: Callable[..., Machine], start_server: Callable[..., Server]
) -> None:
    server = start_server(make_machine(release="0.5.23"), "--enable-metrics", "--max-running-requests", "2")
    server.wait_until_ready()
    clients = [send_endless_request(server) for _ in range(3)]
    told = Figures()

    def all_are_seen() -> bool:
        nonlocal told
        told = parse_metrics(server.get("/metrics").body)[0]
        return (told.running, told.queued) == (2, 1)

    wait_until(all_are_seen, what=f"two running and one queued: {told}")
    loads = parse_loads(server.get("/v1/loads").body)
    assert (loads.running, loads.queued, loads.max_running) == (2, 1, 2)
    server.wait_for_log("#queue-req: 1")
    for client in clients:
        client.close()
