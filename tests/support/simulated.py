"""Fixtures around the simulated machine: GPUs, an interpreter with SGLang, and servers that are cleaned up."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.ports import free_port
from tests.support.waiting import wait_until
from tui.gpu import GpuSnapshot
from tui.gpu.simulated import SimulatedReader
from tui.keeper.identity import ProcessStat, read_stat
from tui.simulator.machine import Machine, create_machine

# The flags of the recorded servers, without those that chose the CPU.
RECORDED_FLAGS = (
    *("--disable-cuda-graph", "--disable-overlap-schedule"),
    *("--mem-fraction-static", "0.1", "--max-total-tokens", "4096"),
)
READY_LINE = "The server is fired up and ready to roll!"
MODEL = "Qwen/Qwen3-0.6B"
_START_TIMEOUT_S = 60


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP answer."""

    status: int
    body: bytes

    def json(self) -> Any:
        """The body, decoded."""
        return json.loads(self.body)


@dataclass(frozen=True, slots=True)
class Server:
    """A simulated server that this test started, the leader of its own session."""

    process: subprocess.Popen[bytes]
    port: int
    log_path: Path

    @property
    def log(self) -> str:
        """Everything it has logged so far; carriage returns are kept, and the last character may be half written."""
        return self.log_path.read_bytes().decode(errors="replace")

    def wait_for_log(self, text: str, count: int = 1) -> None:
        """Until `text` stands in the log `count` times."""
        wait_until(lambda: self.log.count(text) >= count, _START_TIMEOUT_S, f"{text!r} in\n{self.log[-3000:]}")

    def wait_until_ready(self) -> None:
        """Until the ready line; fails at once when the process ends before."""
        wait_until(
            lambda: READY_LINE in self.log or self.process.poll() is not None, _START_TIMEOUT_S, "ready or ended"
        )
        assert self.process.poll() is None, f"ended with {self.process.returncode}:\n{self.log[-3000:]}"

    def wait_for_end(self) -> int:
        """Its exit status, as Python's returncode."""
        return self.process.wait(_START_TIMEOUT_S)

    def get(self, path: str, headers: dict[str, str] | None = None) -> Answer:
        """GET; statuses of failure are answers too."""
        return self._ask(path, None, headers)

    def post(self, path: str, body: object, headers: dict[str, str] | None = None) -> Answer:
        """POST a JSON body."""
        return self._ask(path, json.dumps(body).encode(), headers)

    def _ask(self, path: str, data: bytes | None, headers: dict[str, str] | None) -> Answer:
        url = f"http://127.0.0.1:{self.port}{path}"
        try:
            with urllib.request.urlopen(urllib.request.Request(url, data, headers or {}), timeout=60) as response:
                return Answer(response.status, response.read())
        except urllib.error.HTTPError as error:
            with error:
                return Answer(error.code, error.read())

    def members(self) -> dict[int, ProcessStat]:
        """The living processes of its session."""
        stats = (read_stat(int(path.name)) for path in Path("/proc").glob("[0-9]*"))
        return {stat.pid: stat for stat in stats if stat and stat.session == self.process.pid and not stat.is_dead}

    def find(self, title: str) -> int:
        """The pid of the member whose command line begins with `title`."""
        pids = [pid for pid in self.members() if read_command(pid).startswith(title)]
        assert len(pids) == 1, f"{title}: {pids}"
        return pids[0]

    def orphans(self) -> list[int]:
        """Living processes outside of its session that have its log on stdout or stderr."""
        members = self.members()
        pids = (int(path.name) for path in Path("/proc").glob("[0-9]*"))
        return [pid for pid in pids if pid not in members and self._is_written_by(pid)]

    def _is_written_by(self, pid: int) -> bool:
        stat = read_stat(pid)
        if stat is None or stat.is_dead:
            return False
        with suppress(OSError):  # gone meanwhile, or somebody else's
            return self.log_path in {Path(f"/proc/{pid}/fd/{number}").readlink() for number in (1, 2)}
        return False

    def kill_session(self) -> None:
        """SIGKILL whatever is left of it."""
        while left := [*self.members(), *self.orphans()]:
            for pid in left:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        self.process.wait()


def read_command(pid: int) -> str:
    """The command line with blanks between words; empty when the process is gone."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except (FileNotFoundError, ProcessLookupError):
        return ""
    return " ".join(words).strip()


def read_titles(server: Server) -> set[str]:
    """The titles that its schedulers and its detokenizer have given themselves by now."""
    commands = {read_command(pid) for pid in server.members()}
    return {command for command in commands if command.startswith("sglang::")}


def read_gpu(machine: Machine, index: int = 0) -> GpuSnapshot:
    """One GPU now."""
    return SimulatedReader(machine.directory).read().gpus[index]


def used(machine: Machine, index: int = 0) -> int:
    """Bytes that are held on one GPU now."""
    memory = read_gpu(machine, index).memory
    assert memory is not None
    return memory.used_bytes


def ask_endlessly(port: int) -> socket.socket:
    """Returns the connection; the request ends when it is closed."""
    body = json.dumps({"text": "a b", "sampling_params": {"max_new_tokens": 1_000_000}}).encode()
    client = socket.create_connection(("127.0.0.1", port))
    client.sendall(b"POST /generate HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
    return client


def send_endless_request(server: Server) -> socket.socket:
    """The same, once it has begun."""
    client = ask_endlessly(server.port)
    server.wait_for_log("#new-token: 2")
    return client


@pytest.fixture
def make_machine(tmp_path: Path) -> Callable[..., Machine]:
    """Makes simulated machines under tmp_path: `make_machine(release="0.5.23", pace=0.1)`; no waits by default."""

    def make(name: str = "machine", **options: Any) -> Machine:
        return create_machine(tmp_path / name, **{"pace": 0.0, **options})

    return make


@pytest.fixture
def simulated_machine(make_machine: Callable[..., Machine]) -> Machine:
    """Two GPUs of 96 GB, SGLang 0.5.11, no waits."""
    return make_machine()


@pytest.fixture
def start_server(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """Starts servers directly: `start_server(machine, "--tp", "2", env={"SGLTUI_SIM": "leak"})`.

    Each is the leader of its own session, whose every process is killed at the end of the test.
    """
    servers: list[Server] = []

    def start(
        machine: Machine, *flags: str, model: str = MODEL, port: int | None = None, env: dict[str, str] | None = None
    ) -> Server:
        port = port or free_port()
        log_path = tmp_path / f"server-{len(servers)}.log"
        command = [str(machine.python), "-m", "sglang.launch_server", "--model-path", model, "--port", str(port)]
        with log_path.open("xb") as log:
            process = subprocess.Popen(
                [*command, *flags],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, **(env or {})},
                start_new_session=True,
            )
        servers.append(Server(process, port, log_path))
        return servers[-1]

    yield start
    for server in servers:
        server.kill_session()
