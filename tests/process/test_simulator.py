"""The simulated server against recordings of the real one: lines, processes and endpoints."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.recordings import REAL, fields, is_tokenizer_line, kinds, recorded, recorded_run
from tests.support.simulated import (
    RECORDED_FLAGS,
    Server,
    read_command,
    read_titles,
    used,
)
from tests.support.waiting import wait_until
from tui.simulator.machine import RELEASES, Machine

GIB = 1 << 30


@pytest.mark.parametrize(("release", "name"), [("0.5.11", "term"), ("0.5.23", "solo")])
def test_a_start_logs_the_lines_of_a_real_one(
    release: str,
    name: str,
    make_machine: Callable[..., Machine],
    start_server: Callable[..., Server],
) -> None:
    server = start_server(make_machine(release=release), *RECORDED_FLAGS)
    server.wait_until_ready()

    ours = kinds(server.log.partition("roll!")[0])
    theirs = kinds(recorded(release, name).partition("roll!")[0])
    assert [line for line in ours if not is_tokenizer_line(line)] == [
        line for line in theirs if not is_tokenizer_line(line)
    ]
    assert sorted(filter(is_tokenizer_line, ours)) == sorted(filter(is_tokenizer_line, theirs))
    # Another process may log between two states of a bar; within one, nobody can.
    assert "\rMulti-thread loading shards:   0% Completed | 0/1 [00:00<?, ?it/s]" in server.log


def test_the_processes_look_like_the_real_ones(simulated_machine: Machine, start_server: Callable[..., Server]) -> None:
    """Names, parents, one session; setproctitle's effect on the environment, and `SPT_NOENV` against it."""
    for environment, kept in (({"MARK": "here"}, 2), ({"MARK": "here", "SPT_NOENV": "1"}, 4)):
        server = start_server(simulated_machine, env=environment)
        server.wait_until_ready()
        members = server.members()
        names = sorted(read_name(pid) for pid in members)
        theirs = recorded_run("0.5.11", "clean")["tree"]
        assert names == sorted(process["comm"] for process in theirs)
        assert {stat.ppid for pid, stat in members.items() if pid != server.process.pid} == {server.process.pid}
        marked = [pid for pid in members if b"MARK=here" in Path(f"/proc/{pid}/environ").read_bytes()]
        assert len(marked) == kept
        server.kill_session()


def read_name(pid: int) -> str:
    """The kernel's name of a process; an interpreter may be called python3.11."""
    return re.sub(r"^python[\d.]*$", "python", Path(f"/proc/{pid}/comm").read_text().strip())


def importing(server: Server) -> list[int]:
    return [pid for pid in server.members() if "spawn_main" in read_command(pid)]


def test_children_outlive_a_parent_that_dies_while_they_import(
    make_machine: Callable[..., Machine], start_server: Callable[..., Server]
) -> None:
    """The orphan window: the scheduler loads the whole model for nobody, the detokenizer stays for ever."""
    machine = make_machine(pace=0.3)
    server = start_server(machine)
    server.wait_for_log("Using default HuggingFace chat template")  # said once both have been told what to do
    children = importing(server)
    assert len(children) == 2
    for pid in children:  # they import for as long as their parent takes to die, also where the machine is busy
        os.kill(pid, signal.SIGSTOP)
    server.process.terminate()
    assert server.wait_for_end() == recorded_run("0.5.11", "termstart")["returncode"] == -signal.SIGTERM
    for pid in children:
        os.kill(pid, signal.SIGCONT)

    wait_until(lambda: used(machine) > GIB, what="the orphan holds memory")
    server.wait_for_log("BrokenPipeError: [Errno 32] Broken pipe")
    wait_until(lambda: used(machine) == 0, what="the orphan is gone")
    wait_until(lambda: read_titles(server) == {"sglang::detokenizer"}, what="the detokenizer alone, once it is there")


@pytest.mark.parametrize("release", RELEASES)
def test_endpoints_have_the_fields_of_the_real_ones(
    release: str, make_machine: Callable[..., Machine], start_server: Callable[..., Server]
) -> None:
    server = start_server(make_machine(release=release), *RECORDED_FLAGS, "--enable-metrics")
    server.wait_until_ready()
    folder = REAL / release / "endpoints"
    for name in ("server_info", "model_info", "v1_models", "get_load", "v1_loads", "nosuch"):
        path = "/" + name.replace("v1_", "v1/")
        ours, recording = server.get(path), next(folder.glob(f"{name}.*"))
        if recording.suffix == ".txt":
            assert (ours.status, ours.body) == (500, recording.read_bytes())
            continue
        assert fields(ours.json()) == fields(json.loads(recording.read_bytes())), name
    state, theirs = (
        body["internal_states"][0]
        for body in (server.get("/server_info").json(), json.loads((folder / "server_info.json").read_bytes()))
    )
    assert set(state) == set(theirs)
    assert set(state["memory_usage"]) == set(theirs["memory_usage"])
    assert server.get("/get_load").status == (200 if release == "0.5.11" else 404)
    gauges = re.findall(r"^# TYPE (\S+) gauge", server.get("/metrics").body.decode(), re.MULTILINE)
    assert set(gauges) <= set(re.findall(r"^# TYPE (\S+) gauge", (folder / "metrics.txt").read_text(), re.MULTILINE))
    assert {"sglang:num_running_reqs", "sglang:token_usage", "sglang:gen_throughput"} <= set(gauges)


def test_generation_answers_whole_and_as_a_stream(
    simulated_machine: Machine, start_server: Callable[..., Server]
) -> None:
    server = start_server(simulated_machine)
    server.wait_until_ready()
    answer = server.post("/generate", {"text": "a b", "sampling_params": {"max_new_tokens": 50}}).json()
    assert answer["meta_info"]["completion_tokens"] == 50
    assert answer["meta_info"]["finish_reason"] == {"type": "length", "length": 50}
    chat = {"messages": [{"role": "user", "content": "hello"}], "max_tokens": 30}
    whole = server.post("/v1/chat/completions", chat).json()["choices"][0]["message"]["content"]
    events = server.post("/v1/chat/completions", {**chat, "stream": True}).body.decode().split("\n\n")
    chunks = [json.loads(event.removeprefix("data: ")) for event in events[:-2]]
    assert events[-2:] == ["data: [DONE]", ""]
    assert "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in chunks) == whole
    assert "Decode batch, #running-req: 1, #token:" in server.log
    assert server.get("/metrics").status == 404


def test_the_port_opens_last_and_health_follows_the_warm_up(
    simulated_machine: Machine, start_server: Callable[..., Server]
) -> None:
    server = start_server(simulated_machine, "--api-key", "s3cret", env={"SGLTUI_SIM": "hang=warmup"})
    server.wait_for_log("Using KV cache dtype")
    server.wait_for_log("Uvicorn running on http://127.0.0.1:")
    assert server.log.index("max_total_num_tokens=") < server.log.index("Uvicorn running")
    assert server.get("/health").status == 503
    assert server.get("/model_info").status == 401
    assert server.get("/model_info", {"Authorization": "Bearer s3cret"}).status == 200
