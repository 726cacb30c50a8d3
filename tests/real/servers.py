"""Real servers that the product has launched, and long requests to them."""

from __future__ import annotations

import json
import secrets
import socket
import threading
import urllib.request
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any

from tests.support.keeping import Kept
from tests.support.simulated import read_command
from tests.support.waiting import wait_until
from tui.keeper.identity import read_stat

# A start takes 15 s on two idle cores, and ten times that where they are busy.
START_LIMIT_S = 300
READY_LINE = "The server is fired up and ready to roll!"
# How an idle main process leaves after TERM: 0.5.11 kills itself, 0.5.23 ends with status 0.
RETURN_CODES = {"0.5.11": -9, "0.5.23": 0}
# Below those that the kernel hands out by itself, and low enough for SGLang 0.5.11: it refuses a port from 55536 on,
# since it reserves the one 10000 above for gRPC.
_PORTS = range(20000, 32000)


def choose_port() -> int:
    """A port of 127.0.0.1 that nobody listens on now."""
    while True:
        with socket.socket() as probe, suppress(OSError):
            port = secrets.choice(_PORTS)  # by chance, so that two runs rarely meet
            probe.bind(("127.0.0.1", port))
            return port


@dataclass
class RealServer(Kept):
    """One launch of a real server."""

    port: int

    @property
    def log(self) -> str:
        """Everything it has logged so far."""
        return self.files.log.read_bytes().decode(errors="replace") if self.files.log.exists() else ""

    def wait_for(self, *states: str) -> None:
        """Until it is in one of the states; fails at once when it has ended in another."""
        wait_until(
            lambda: self.state in states or self.files.exit.exists(), START_LIMIT_S, f"{states}: {self.log[-3000:]}"
        )
        assert self.state in states, self.log[-3000:]

    def wait_for_log(self, text: str) -> None:
        wait_until(lambda: text in self.log, START_LIMIT_S, f"{text!r} in {self.log[-3000:]}")

    def wait_for_import(self) -> None:
        """Until it has read its arguments and its children have begun to import: they don't notice its death yet."""
        self.wait_for_log("server_args=")
        wait_until(lambda: len(self.processes()) >= 4, START_LIMIT_S, "four processes")

    def wait_for_end(self) -> dict[str, Any]:
        """How it ended by itself, once its keeper has looked after what was left of it."""
        wait_until(lambda: self.files.exit.exists() and "stop" in self.exit(), START_LIMIT_S, "an end on record")
        return self.exit()

    def processes(self) -> dict[int, str]:
        """Every living process in its session or with its log on stdout or stderr, found without the product."""
        pids = (int(path.name) for path in Path("/proc").glob("[0-9]*"))
        return {pid: read_command(pid) for pid in pids if self._owns(pid)}

    def find(self, title: str) -> int:
        """The pid of the one whose command line begins with `title`."""
        pids = [pid for pid, command in self.processes().items() if command.startswith(title)]
        assert len(pids) == 1, f"{title}: {pids} of {self.processes()}"
        return pids[0]

    def shared_memory(self) -> set[int]:
        """Inodes of the files in /dev/shm that its processes map; their names there may be others by now."""
        maps = "".join(Path(f"/proc/{pid}/maps").read_text(errors="replace") for pid in self.processes())
        return {int(line.split()[4]) for line in maps.splitlines() if "/dev/shm/" in line}

    def post(self, path: str, body: object) -> Any:
        """The JSON that it answers."""
        with urllib.request.urlopen(self.request(path, body), timeout=START_LIMIT_S) as response:  # noqa: S310 - http://127.0.0.1
            return json.load(response)

    def request(self, path: str, body: object) -> urllib.request.Request:
        """A request with a JSON body."""
        headers = {"Content-Type": "application/json"}
        return urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", json.dumps(body).encode(), headers)

    def chat(self) -> str:
        """Ask something; the reason why the answer ended: `length`, since a random model is never done."""
        answer = self.post(
            "/v1/chat/completions",
            {"model": "any", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 8, "ignore_eos": True},
        )
        assert answer["usage"]["completion_tokens"] == 8, answer
        reason: str = answer["choices"][0]["finish_reason"]
        return reason

    def _owns(self, pid: int) -> bool:
        stat = read_stat(pid)
        if stat is None or stat.is_dead:
            return False
        return stat.session == self.pid or any(self._is_log(Path(f"/proc/{pid}/fd/{number}")) for number in (1, 2))

    def _is_log(self, descriptor: Path) -> bool:
        try:
            return descriptor.samefile(self.files.log)
        except OSError:  # gone meanwhile, or not open
            return False


class Stream(threading.Thread):
    """A long request whose tokens come one by one. Ends when the answer is complete or the connection breaks."""

    def __init__(self, server: RealServer, tokens: int, api_key: str | None = None) -> None:
        super().__init__(daemon=True)
        parameters = {"max_new_tokens": tokens, "ignore_eos": True}
        self._request = server.request("/generate", {"text": "hi", "sampling_params": parameters, "stream": True})
        if api_key is not None:
            self._request.add_header("Authorization", f"Bearer {api_key}")
        self.lines: list[bytes] = []
        self.trouble: Exception | None = None

    def run(self) -> None:
        """Read until the end."""
        try:
            with urllib.request.urlopen(self._request, timeout=START_LIMIT_S) as response:  # noqa: S310 - http://127.0.0.1
                for line in response:
                    self.lines.append(line.strip())
        except (OSError, HTTPException) as error:
            self.trouble = error

    @property
    def is_complete(self) -> bool:
        """The server said that this was all."""
        return b"data: [DONE]" in self.lines
