"""Failures on demand: each does what it says, and a word that says nothing is refused."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable
from http.client import BadStatusLine

import pytest

from tests.support.command_line import CommandLine
from tests.support.simulated import READY_LINE, Server, read_gpu, send_endless_request, used
from tests.support.waiting import wait_until
from tui.diagnosis.progress import Stage
from tui.diagnosis.stages import StageTracker
from tui.keeper.identity import read_stat
from tui.keeper.readiness import answers
from tui.simulator.machine import RELEASES, Machine
from tui.simulator.switches import STAGES

# Each switch with the newest release; with the others in `make soak`.
NEWEST_OFTEN = [*(pytest.param(release, marks=pytest.mark.soak) for release in RELEASES[:-1]), RELEASES[-1]]
GIB = 1 << 30
HOST = "127.0.0.1"
NO_MEMORY = {
    "0.5.11": "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.",
    "0.5.23": "ValueError: Loaded weights leave no GPU memory for the KV cache under --mem-fraction-static=1e-05.",
}
# Exit status, what the log says, and where the product sees the launch then.
FAILURES = {
    "args": (2, "sglang serve: error: unrecognized arguments: --no-such-flag 3", Stage.ARGS),
    "import": (1, "ImportError: libnvrtc.so.12: cannot open shared object file", Stage.ARGS),
    "download": (
        -9,
        "huggingface_hub.errors.HfHubHTTPError: Server error '503 Service Unavailable'",
        Stage.WEIGHT_LOAD,
    ),
    "distributed init": (-9, "torch.distributed.DistBackendError: NCCL error:", Stage.DISTRIBUTED_INIT),
    "weight load": (-9, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate", Stage.WEIGHT_LOAD),
    "memory pool": (-9, "", Stage.MEMORY_POOL),
    "cuda graph capture": (-9, "Exception: Capture cuda graph failed: CUDA out of memory.", Stage.CUDA_GRAPH_CAPTURE),
    "listen": (-9, f"[Errno 98] error while attempting to bind on address ('{HOST}', ", Stage.WARMUP),
    "warmup": (-9, "AssertionError: res=<Response [500]>, res.text='Internal Server Error'", Stage.WARMUP),
}


# Where the product sees a launch that hangs at a stage that the log doesn't tell.
SEEN = {"download": Stage.WEIGHT_LOAD, "listen": Stage.WARMUP}


def wait_for_stage(server: Server, stage: Stage) -> None:
    wait_until(lambda: stage_of(server) is stage, what=f"{stage}: {server.log[-2000:]}")


def switched(words: str) -> dict[str, str]:
    return {"SGLTUI_SIM": words}


def stage_of(server: Server) -> Stage:
    tracker = StageTracker()
    for line in server.log.split("\n"):
        tracker.feed(line)
    return tracker.progress.stage


@pytest.mark.parametrize("release", NEWEST_OFTEN)
@pytest.mark.parametrize("stage", FAILURES)
def test_it_fails_where_it_is_told_to(
    stage: str, release: str, make_machine: Callable[..., Machine], start_server: Callable[..., Server]
) -> None:
    returncode, said, seen = FAILURES[stage]
    server = start_server(make_machine(release=release), env=switched(f"fail={stage}"))
    assert server.wait_for_end() == returncode
    assert (said or NO_MEMORY[release]) in server.log
    assert stage_of(server) is seen
    assert READY_LINE not in server.log
    wait_until(lambda: not server.members(), what="nobody left")


@pytest.mark.parametrize("release", NEWEST_OFTEN)
def test_a_first_request_can_be_too_much(
    release: str, make_machine: Callable[..., Machine], start_server: Callable[..., Server]
) -> None:
    server = start_server(make_machine(release=release), env=switched("fail=runtime"))
    server.wait_until_ready()
    with pytest.raises(OSError, match=r"Remote end closed connection|reset by peer"):
        server.post("/generate", {"text": "a b"})
    assert server.wait_for_end() == -signal.SIGKILL
    assert "forward_batch_generation" in server.log.partition("Scheduler hit an exception: Traceback")[2]
    assert "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 672.00 MiB." in server.log


@pytest.mark.parametrize("release", NEWEST_OFTEN)
def test_it_hangs_where_it_is_told_to(
    release: str, make_machine: Callable[..., Machine], start_server: Callable[..., Server]
) -> None:
    """A server that is started after them all, and has nothing to wait for, overtakes them."""
    stuck = {
        stage: start_server(make_machine(stage, release=release), env=switched(f"hang={stage}"))
        for stage in STAGES
        if stage != "runtime"
    }
    start_server(make_machine("free", release=release)).wait_until_ready()
    for stage, server in stuck.items():
        wait_for_stage(server, SEEN.get(stage) or Stage(stage))
    start_server(make_machine("last", release=release)).wait_until_ready()
    for stage, server in stuck.items():
        assert server.process.poll() is None, stage
        assert READY_LINE not in server.log
        assert ("Uvicorn running" in server.log) is (stage == "warmup")


@pytest.mark.parametrize("word", ["fail=cuda graph", "hang=ready", "answer=404", "silent=1", "fail", "leek"])
def test_an_unknown_word_is_refused(word: str, simulated_machine: Machine, start_server: Callable[..., Server]) -> None:
    server = start_server(simulated_machine, env=switched(f"leak, {word}"))
    assert server.wait_for_end() == 2
    assert server.log.startswith(f"SGLTUI_SIM: unknown word '{word}' (choose from fail=args, fail=import, ")
    assert server.log.endswith("answer=slow, crash-after-ready, flood, ignore-term, leak, orphan, silent)\n")


def test_silence_begins_once_it_is_ready(simulated_machine: Machine, start_server: Callable[..., Server]) -> None:
    """Asked three times, it says nothing, not even in its log, and an end that is asked for still comes."""
    server = start_server(simulated_machine, env=switched("silent"))
    server.wait_until_ready()
    before = server.log
    for request in (b"GET /model_info", b"GET /health", b"POST /generate"):
        with socket.create_connection((HOST, server.port), timeout=0.3) as client:
            client.sendall(request + b" HTTP/1.0\r\n\r\n")
            with pytest.raises(TimeoutError):
                client.recv(1)
    assert server.log == before
    server.process.terminate()
    assert server.wait_for_end() == -signal.SIGKILL


def test_a_flood_lasts_to_the_end(simulated_machine: Machine, start_server: Callable[..., Server]) -> None:
    server = start_server(simulated_machine, env=switched("flood"))
    server.wait_for_log("Decode batch, #running-req: 1, #token: 0, ", count=3000)
    assert server.log.index(READY_LINE) < server.log.index("Decode batch")
    assert server.get("/model_info").status == 200
    client = send_endless_request(server)
    client.close()
    server.process.terminate()
    assert server.wait_for_end() == -signal.SIGKILL
    assert all(line.startswith("[20") for line in server.log.partition(READY_LINE)[2].splitlines()[1:])


def test_wrong_answers(make_machine: Callable[..., Machine], start_server: Callable[..., Server]) -> None:
    """A prober isn't satisfied by any of them; other requests are answered."""
    refusing, talking, dribbling = (
        start_server(make_machine(how), env=switched(f"answer={how}")) for how in ("503", "rubbish", "slow")
    )
    for server in (refusing, talking, dribbling):
        server.wait_until_ready()
        assert not answers(HOST, server.port, None)
        assert server.post("/generate", {"text": "a", "sampling_params": {"max_new_tokens": 1}}).status == 200
    assert [refusing.get(path).status for path in ("/model_info", "/v1/models", "/health")] == [503] * 3
    with pytest.raises(BadStatusLine):
        talking.get("/server_info")
    with socket.create_connection((HOST, dribbling.port)) as client:
        client.sendall(b"GET /v1/models HTTP/1.0\r\n\r\n")
        assert [client.recv(100) for _ in range(3)] == [b"H", b"T", b"T"]


def test_it_outlives_sigterm(make_machine: Callable[..., Machine], start_server: Callable[..., Server]) -> None:
    deaf = start_server(make_machine("deaf"), env=switched("ignore-term"))
    obedient = start_server(make_machine("obedient"))
    for server in (deaf, obedient):
        server.wait_until_ready()
        server.process.terminate()
    assert obedient.wait_for_end() == -signal.SIGKILL
    deaf.wait_for_log("SIGTERM received")
    assert deaf.get("/model_info").status == 200


def test_a_crash_leaves_memory_that_nobody_holds(
    simulated_machine: Machine, start_server: Callable[..., Server]
) -> None:
    server = start_server(simulated_machine, env=switched("crash-after-ready, leak"))
    assert server.wait_for_end() == -signal.SIGKILL
    assert server.log.index("fired up") < server.log.index("Scheduler hit an exception")
    assert "torch.AcceleratorError: CUDA error: an illegal memory access was encountered" in server.log
    assert "SIGQUIT received. signum=None, frame=None. It usually means one child failed." in server.log
    wait_until(lambda: not server.members(), what="nobody left")
    assert used(simulated_machine) > 50 * GIB
    assert read_gpu(simulated_machine).processes == ()


def test_an_orphan_survives_the_server(simulated_machine: Machine, start_server: Callable[..., Server]) -> None:
    server = start_server(simulated_machine, env=switched("orphan"))
    server.wait_until_ready()
    [orphan] = wait_for_orphans(server)
    stat = read_stat(orphan)
    assert stat is not None
    assert stat.session == orphan
    assert stat.ppid not in server.members()
    server.process.terminate()
    assert server.wait_for_end() == -signal.SIGKILL
    wait_until(lambda: not server.members(), what="the server is gone")
    assert [process.pid for process in read_gpu(simulated_machine).processes] == [orphan]
    assert used(simulated_machine) == GIB
    os.kill(orphan, signal.SIGTERM)
    wait_until(lambda: not server.orphans(), what="it obeys")
    assert used(simulated_machine) == 0


def wait_for_orphans(server: Server) -> list[int]:
    wait_until(server.orphans, what="an orphan")
    return server.orphans()


def test_a_keeper_finds_the_orphan(command_line: CommandLine) -> None:
    """By the log that it writes to, and as a descendant: its session and its environment tell nothing."""
    command_line.environ.update(switched("orphan"))
    command_line.ok("launch", "--model", "Qwen/Qwen3-0.6B", "--name", "one", "--wait")
    wait_until(lambda: "orphan" in str(command_line.json("gpus")), what="the orphan holds memory")
    [report] = command_line.json("stop", "one")["results"]
    assert len(report["stopped"]) == 5, "main, resource tracker, scheduler, detokenizer, orphan"
    assert (report["survivors"], report["released"]) == ([], True)
