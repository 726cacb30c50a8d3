"""The real command line in processes of its own, over a simulated machine."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.support import forked
from tests.support.simulated import read_command
from tests.support.waiting import wait_until
from tui.errors import SgltuiError
from tui.keeper import procfs
from tui.keeper.stop import StopRequest
from tui.launch.records import Recorded, find_launch, list_names
from tui.launch.stop import stop_launch
from tui.paths import Places
from tui.simulator.machine import Machine

LIMIT_S = 100
_READ_AT_A_START = {"PYTHONIOENCODING", "COVERAGE_PROCESS_CONFIG"}


@dataclass
class CommandLine:
    """`sgltui …` on a simulated machine."""

    machine: Machine
    environ: dict[str, str] = field(default_factory=dict)

    @property
    def places(self) -> Places:
        return Places(self.machine.directory / "state", self.machine.directory / "config", self.machine.directory)

    @property
    def environment(self) -> dict[str, str]:
        return {**self.machine.environ(), **self.environ}

    def words(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "tui", *arguments]

    def run(self, *arguments: str, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        environment = {**self.environment, **(env or {})}
        if not _READ_AT_A_START.isdisjoint(environment):
            return subprocess.run(
                self.words(*arguments), env=environment, capture_output=True, text=True, timeout=LIMIT_S, check=False
            )
        return forked.run(arguments, environment, LIMIT_S)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.words(*arguments), env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def ok(self, *arguments: str, env: Mapping[str, str] | None = None) -> str:
        done = self.run(*arguments, env=env)
        assert done.returncode == 0, f"{arguments}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def json(self, *arguments: str) -> Any:
        return json.loads(self.ok(*arguments, "--json"))

    def ps(self, name: str) -> dict[str, Any]:
        found: list[dict[str, Any]] = [row for row in self.json("ps") if row["name"] == name]
        assert len(found) == 1, f"{name} in ps"
        return found[0]

    def ps_live(self, name: str) -> dict[str, Any]:
        """The same, once somebody told what it does: on a busy machine `ps` may not wait long enough."""
        row = self.ps(name)

        def has_told() -> bool:
            nonlocal row
            row = self.ps(name)
            return row["live_source"] is not None

        wait_until(has_told, LIMIT_S, "live figures")
        return row

    def recorded(self, name: str) -> Recorded:
        """What is on record now; read here, where a process for each look would slow down what is waited for."""
        return find_launch(self.places, name)

    def wait_for(self, name: str, *states: str) -> None:
        wait_until(lambda: self._is(name, states), LIMIT_S, f"{name} {states}")

    def _is(self, name: str, states: tuple[str, ...]) -> bool:
        try:
            return self.recorded(name).current_state() in states
        except SgltuiError:  # its directory is just being made
            return False

    def child(self, name: str, title: str) -> int:
        """The pid of the server's child whose command line is `title`."""
        server = self.recorded(name).state.server
        assert server is not None
        [pid] = [pid for pid in procfs.children(server.pid) if read_command(pid) == title]
        return pid

    def write_preset(self, name: str, text: str) -> Path:
        path = self.places.user_presets / f"{name}.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def end_all(self) -> None:
        for name in list_names(self.places):
            with suppress(SgltuiError):  # most tests have stopped theirs
                stop_launch(self.places, name, StopRequest(release_wait_s=0, kill=True))

    def launches(self, name: str) -> list[Path]:
        directory = self.places.instances / name
        return sorted(path for path in directory.glob("2*")) if directory.is_dir() else []


@pytest.fixture
def command_line(make_machine: Callable[..., Machine]) -> Iterator[CommandLine]:
    """The command line on a machine of its own; whatever it launched is ended with the test."""
    line = CommandLine(make_machine("machine of its own"))
    yield line
    line.end_all()
