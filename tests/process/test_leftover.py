"""`stop --pid`: a server of SGLang that no record knows is ended; nothing that merely speaks of SGLang ever is."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.command_line import LIMIT_S, CommandLine
from tests.support.keeping import PROGRAMS, Keeping, is_running
from tests.support.simulated import Server
from tests.support.waiting import wait_until
from tui.errors import RefusedError
from tui.gpu import GpuReading
from tui.gpu.simulated import SimulatedReader
from tui.keeper import cgroup, sglang_marks
from tui.keeper.stop import StopRequest
from tui.launch.leftover import find_leftover, list_processes, stop_leftover
from tui.paths import Places
from tui.simulator.machine import Machine

QUICK = StopRequest(grace_s=5, release_wait_s=5)
SLEEP = "import time; time.sleep(600)"
NO_GPUS = GpuReading()


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(state=tmp_path / "state", config=tmp_path / "config")


Start = Callable[[Sequence[str]], int]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts a program in our own session, and ends it with the test."""
    processes: list[subprocess.Popen[bytes]] = []

    def start(words: Sequence[str], **options: int) -> int:
        processes.append(subprocess.Popen(list(words), stdout=subprocess.DEVNULL, **options))  # type: ignore[call-overload]  # user=
        return processes[-1].pid

    yield start
    for process in processes:
        process.kill()
        process.wait()


DECOYS = {
    "an editor": [sys.executable, "-c", SLEEP, "sglang.md", "sglang.launch_server"],
    "a shell": ["bash", "-c", "sleep 600; python -m sglang.launch_server", "sglang", "serve"],
    "a borrowed title": ["bash", "-c", 'exec -a "sglang::scheduler" sleep 600'],
    "a script that is given the words": [
        sys.executable,
        str(PROGRAMS / "tree.py"),
        "/dev/null",
        "-m",
        "sglang.launch_server",
    ],
    "a tool of SGLang's": [sys.executable, "-c", SLEEP, "-m", "sglang.bench_serving"],
    "a worker of somebody's": [sys.executable, "-c", f"import multiprocessing.spawn as spawn_main; {SLEEP}"],
}


@pytest.mark.parametrize("words", DECOYS.values(), ids=DECOYS.keys())
def test_what_speaks_of_sglang_is_not_ended(places: Places, start: Start, words: list[str]) -> None:
    pid = start(words)
    with pytest.raises(RefusedError, match=f"process {pid} isn't SGLang's"):
        find_leftover(places, pid, NO_GPUS)


@pytest.mark.parametrize(
    ("words", "starts_a_server"),
    [
        ("python -m sglang.launch_server --model-path m", True),
        ("python3.12 -u -X dev -m sglang.launch_server", True),
        ("/v/bin/python /v/bin/sglang serve --model-path m", True),
        ("/v/bin/python /v/bin/sglang generate", False),
        ("python -m pdb -m sglang.launch_server", False),
        ("python -c pass -m sglang.launch_server", False),
        ("python serve.py sglang serve", False),
        ("python sglang.launch_server", False),
        ("python", False),
    ],
)
def test_a_command_starts_a_server_or_not(words: str, starts_a_server: bool) -> None:
    assert sglang_marks.is_main_command(words.split()) is starts_a_server


def test_a_server_that_no_record_knows_is_shown_whole_and_ended(
    simulated_machine: Machine, start_server: Callable[..., Server], places: Places, decoy: int
) -> None:
    server = start_server(simulated_machine, "--api-key", "open-sesame")
    server.wait_until_ready()
    members = sorted(server.members())
    reading = SimulatedReader(simulated_machine.directory).read()
    found = find_leftover(places, server.find("sglang::scheduler"), reading)
    assert found.root.pid == server.process.pid
    assert [member.pid for member in found.members] == members
    assert (found.gpus, found.port) == ((simulated_machine.gpus[0].uuid,), server.port)
    shown = {process.pid: process for process in list_processes(found, reading)}
    assert shown[server.find("sglang::scheduler")].held_bytes == sum(
        process.used_bytes or 0 for process in reading.gpus[0].processes
    )
    assert all(0 <= process.age_s < 600 for process in shown.values())
    assert shown[server.process.pid].command.endswith("--api-key ***")
    simulated = Places(places.state, places.config, simulated_machine.directory)
    report = stop_leftover(simulated, found, QUICK)
    assert list(report.stopped) == members
    assert (report.survivors, report.released, report.port_free) == ((), True, True)
    assert is_running(decoy)


def test_the_cgroup_of_a_server_whose_records_are_gone_is_emptied_and_removed(
    simulated_machine: Machine, start_server: Callable[..., Server], places: Places
) -> None:
    folder = cgroup.place_for("b" * 32)
    if folder is None:
        pytest.skip("no cgroup can be made here")
    server = start_server(simulated_machine)
    server.wait_until_ready()
    with subprocess.Popen([sys.executable, "-c", SLEEP]) as orphan:
        try:
            assert cgroup.enclose(folder, server.process.pid)
            (folder / "cgroup.procs").write_text(str(orphan.pid))
            found = find_leftover(places, server.process.pid, NO_GPUS)
            assert orphan.pid in {process.pid for process in list_processes(found, NO_GPUS)}, "shown before it is ended"
            assert stop_leftover(places, found, QUICK).survivors == ()
        finally:
            orphan.kill()
    assert not folder.exists()


def test_orphans_of_one_server_are_found_together_and_another_servers_are_not(places: Places, tmp_path: Path) -> None:
    """Told by session and log: their main process, which knew them, is gone."""
    pids: dict[str, int] = {}
    for log, title in (("one", "sglang::scheduler_TP0"), ("one", "sglang::detokenizer"), ("two", "sglang::scheduler")):
        with (tmp_path / log).open("ab") as file:
            words = [sys.executable, str(PROGRAMS / "titled.py"), title]
            # One session, as of a shell from which both servers were started.
            subprocess.run(words, stdout=file, check=True, env={**os.environ, "PYTHONPATH": str(PROGRAMS.parents[1])})
        pids[title] = newest_pid(tmp_path / log, pids.values())
    try:
        wait_until(lambda: all(map(sglang_marks.is_child, pids.values())), what="titles")
        found = find_leftover(places, pids["sglang::detokenizer"], NO_GPUS)
        assert {member.pid for member in found.members} == {pids["sglang::scheduler_TP0"], pids["sglang::detokenizer"]}
        stop_leftover(places, found, QUICK)
        assert [title for title, pid in pids.items() if is_running(pid)] == ["sglang::scheduler"]
    finally:
        for pid in pids.values():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def newest_pid(log: Path, earlier: Iterable[int]) -> int:
    """The pid that was printed last, as soon as it is another one than the earlier."""

    def printed() -> list[int]:
        return [int(line) for line in log.read_text().splitlines(keepends=True) if line.endswith("\n")]

    wait_until(lambda: set(printed()) - set(earlier), what="a pid in the log")
    return printed()[-1]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can start a process of another user")
def test_another_users_process_is_left_alone(places: Places, start: Start) -> None:
    pid = start(["sleep", "600"], user=65534)  # type: ignore[call-arg]  # as Popen takes it
    with pytest.raises(RefusedError, match="belongs to another user"):
        find_leftover(places, pid, NO_GPUS)


def test_what_has_a_record_or_a_keeper_elsewhere_is_stopped_by_its_name(keeping: Keeping, tmp_path: Path) -> None:
    kept = keeping.launch_program("tree.py", str(tmp_path / "pids"))
    wait_until((tmp_path / "pids").exists)
    with pytest.raises(RefusedError, match=f"belong to {kept.read().address}.*`sgltui stop server`"):
        find_leftover(keeping.places, kept.pid, NO_GPUS)
    with pytest.raises(RefusedError, match=rf"has a keeper \(pid {kept.keeper_pid}\)"):
        find_leftover(Places(tmp_path / "elsewhere", tmp_path), kept.pid, NO_GPUS)


def test_the_command_shows_asks_and_ends(
    command_line: CommandLine, start_server: Callable[..., Server], decoy: int
) -> None:
    server = start_server(command_line.machine)
    server.wait_until_ready()
    pid = str(server.process.pid)
    asked = command_line.run("stop", "--pid", pid)
    assert asked.returncode == 2
    assert "give --yes" in asked.stderr
    assert re.search(
        rf"pid {server.find('sglang::scheduler')}, up .*, [\d.]+ GiB of GPU memory: sglang::scheduler", asked.stderr
    )
    assert answer(command_line, "n\n", "stop", "--pid", pid) == 1
    assert is_running(server.process.pid)
    done = command_line.run("stop", "--pid", pid, "--yes")
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(rf"pid {pid}: 4 processes ended in [\d.]+ s; [\d.]+ GiB of GPU memory came back\n", done.stdout)
    assert server.members() == {}
    refused = command_line.run("stop", "--pid", str(decoy), "--yes")
    assert refused.returncode == 1
    assert is_running(decoy)


def answer(command_line: CommandLine, text: str, *arguments: str) -> int:
    """The status of a command whose question is answered on a terminal."""
    ours, theirs = os.openpty()
    try:
        os.write(ours, text.encode())
        words = command_line.words(*arguments)
        return subprocess.run(
            words, env=command_line.environment, stdin=theirs, capture_output=True, timeout=LIMIT_S, check=False
        ).returncode
    finally:
        os.close(ours)
        os.close(theirs)
