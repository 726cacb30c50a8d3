"""A simulated server beside a real one of the same release: launched, asked and stopped by the same commands."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.real.machine import Engine, RealMachine
from tests.real.servers import READY_LINE, START_LIMIT_S, RealServer
from tests.support.recordings import fields, is_tokenizer_line, kinds
from tui.keeper.identity import read_stat
from tui.paths import SIMULATED_VARIABLE
from tui.simulator.machine import Machine

ENDPOINTS = ("/server_info", "/model_info", "/v1/models", "/get_load", "/v1/loads", "/nosuch", "/metrics")
# SGLang wants to be told which cores its ranks get on a CPU: 0.5.11 one list a tensor-parallel rank, 0.5.23 one a rank.
CORES_OF_TWO = {"0.5.11": "0", "0.5.23": "0|1"}


@dataclass(frozen=True, slots=True)
class Life:
    """What was seen of one server.

    Attributes:
        tree: title and parent's title of each process.
        answers: status and body by path.
    """

    log: str
    tree: list[tuple[str, str]]
    answers: dict[str, tuple[int, bytes]]
    returncode: int


@pytest.fixture
def pair(
    engine: Engine,
    make_real_machine: Callable[[str], RealMachine],
    make_machine: Callable[..., Machine],
    tmp_path: Path,
) -> tuple[RealMachine, RealMachine]:
    """The product on this machine, and on a simulated one, with presets for the same model."""
    model = tmp_path / "qwen3-0.6b"  # by this name the simulator knows what kind of model it is
    model.symlink_to(engine.dense_model)
    real, standin = make_real_machine("real"), make_real_machine("stand-in")
    real.write_preset("dense", model, engine.python)
    simulated = make_machine(release=engine.release)
    standin.environ[SIMULATED_VARIABLE] = str(simulated.directory)
    standin.write_preset("dense", model, simulated.python)
    return real, standin


def live(machine: RealMachine, *flags: str) -> Life:
    """Launch a server, ask it, stop it."""
    server = machine.launch_and_wait("one", *flags)
    server.wait_for_log(READY_LINE)
    assert server.chat() == "length"
    tree = sorted(name_processes(server))
    answers = {path: get(server.port, path) for path in ENDPOINTS}
    for left in machine.stop("one")["shm_left"]:
        Path(left).unlink()
    return Life(server.log, tree, answers, server.exit()["returncode"])


def name_processes(server: RealServer) -> Iterator[tuple[str, str]]:
    """The name of each process, and of its parent."""
    names = {pid: name(command) for pid, command in server.processes().items()}
    names[server.pid] = "main"
    for pid, title in names.items():
        stat = read_stat(pid)
        assert stat is not None, title
        yield title, names.get(stat.ppid, "keeper" if stat.ppid == server.keeper_pid else "somebody else")


def name(command: str) -> str:
    return "resource tracker" if "multiprocessing.resource_tracker" in command else command


def get(port: int, path: str) -> tuple[int, bytes]:
    try:
        url = f"http://127.0.0.1:{port}{path}"
        with urllib.request.urlopen(url, timeout=START_LIMIT_S) as response:
            return response.status, response.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()


def test_a_simulated_server_is_like_the_real_one(pair: tuple[RealMachine, RealMachine]) -> None:
    """Lines but for those in `LEFT_OUT`, processes, answers, and the end."""
    theirs, ours = map(live, pair)
    lines, expected = kinds(ours.log), kinds(theirs.log)
    assert [line for line in lines if not is_tokenizer_line(line)] == [
        line for line in expected if not is_tokenizer_line(line)
    ]
    assert sorted(filter(is_tokenizer_line, lines)) == sorted(filter(is_tokenizer_line, expected))
    assert len(ours.tree) == 4
    assert_like(ours, theirs)


def test_two_copies_are_like_the_real_ones(pair: tuple[RealMachine, RealMachine], engine: Engine) -> None:
    """Their lines come in any order, so that there is nothing to compare."""
    for machine in pair:
        machine.environ["SGLANG_CPU_OMP_THREADS_BIND"] = CORES_OF_TWO[engine.release]
    theirs, ours = (live(machine, "--dp", "2") for machine in pair)
    assert ("sglang::scheduler_DP1", "sglang::data_parallel_controller") in ours.tree
    assert_like(ours, theirs)


def assert_like(ours: Life, theirs: Life) -> None:
    assert ours.tree == theirs.tree
    assert ours.returncode == theirs.returncode
    for path, (status, body) in theirs.answers.items():
        assert ours.answers[path][0] == status, path
        assert fields(json.loads(ours.answers[path][1])) == fields(json.loads(body)), path
    states = [json.loads(life.answers["/server_info"][1])["internal_states"] for life in (ours, theirs)]
    assert fields(states[0]) == fields(states[1])
