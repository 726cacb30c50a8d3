"""Launches of any program under a real keeper, and a promise that nothing of them is left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.support.waiting import wait_until
from tui.keeper.files import LaunchFiles
from tui.keeper.identity import read_stat, send_signal
from tui.keeper.records import LaunchRecords
from tui.keeper.run import Run, Target
from tui.launch.directory import create_launch, next_launch
from tui.launch.keeping import hand_over
from tui.launch.ports import choose_port
from tui.launch.records import LaunchRecord, Machine, Recorded, read_launch
from tui.paths import Places
from tui.sglang.command import make_command

_FIRST_PORT = 10000  # only promised, to have something to hand over; nobody listens there
PROGRAMS = Path(__file__).parents[1] / "programs"


def is_running(pid: int) -> bool:
    stat = read_stat(pid)
    return stat is not None and not stat.is_dead


@dataclass
class Kept:
    """One launch under a keeper."""

    files: LaunchFiles

    def read(self) -> Recorded:
        return read_launch(self.files.directory)

    @property
    def state(self) -> str:
        return str(self.read().current_state())

    @property
    def pid(self) -> int:
        server = self.read().state.server
        assert server is not None
        return server.pid

    @property
    def keeper_pid(self) -> int:
        keeper = self.read().state.keeper
        assert keeper is not None
        return keeper.pid

    def wait_for(self, *states: str) -> None:
        wait_until(lambda: self.state in states, what=f"{states}, is {self.state}; {self.trouble()}")

    def states_until(self, last: str) -> list[str]:
        """The states it went through. An end is known from its exit record, which is there before its event."""
        wait_until(lambda: self._states()[-1:] == [last], what=f"the event of {last}; {self.trouble()}")
        return self._states()

    def _states(self) -> list[str]:
        events = map(json.loads, self.files.events.read_text().splitlines())
        return [event["new"] for event in events if event["event"] == "state"]

    def exit(self) -> dict[str, Any]:
        wait_until(self.files.exit.exists, what=f"exit.json; {self.trouble()}")
        document: dict[str, Any] = json.loads(self.files.exit.read_text())
        return document

    def trouble(self) -> str:
        return self.files.keeper_log.read_text() if self.files.keeper_log.exists() else "no keeper yet"


class Keeping:
    """Starts launches in a state folder of its own."""

    def __init__(self, places: Places) -> None:
        self.places = places
        self.launched: list[Kept] = []

    def launch(self, argv: Sequence[str], *, name: str = "server", port: int = 1, **fields: Any) -> Kept:
        """Run `argv` under a keeper, as `Launcher.launch` would run a server."""
        self.places.instances.mkdir(parents=True, exist_ok=True)
        record = LaunchRecord(
            name=name,
            launch=next_launch(self.places, name),
            created_at=datetime.now(UTC),
            argv=list(make_command(argv).shown),
            model="none",
            host="127.0.0.1",
            port=port,
            gpus=[],
            mark=f"mark-of-{os.getpid()}-{len(self.launched)}-{name}",
            machine=Machine.this(),
            cwd=str(PROGRAMS),
        )
        record = msgspec.structs.replace(record, **fields)
        files = create_launch(self.places, record)
        promise = choose_port([], "127.0.0.1", None, _FIRST_PORT)
        hand_over(files, make_command(argv), record, dict(os.environ), promise)
        promise.close()
        kept = Kept(files)
        self.launched.append(kept)
        return kept

    def launch_program(self, name: str, *arguments: str, **fields: Any) -> Kept:
        """Run one of tests/programs under a keeper."""
        return self.launch([sys.executable, str(PROGRAMS / name), *arguments], **fields)

    def clean_up(self) -> None:
        for kept in self.launched:
            recorded = kept.read()
            if recorded.state.keeper is not None:
                send_signal(recorded.state.keeper, signal.SIGKILL)
            target = Target.from_record(json.loads(kept.files.launch.read_bytes()))
            run = Run(LaunchRecords(kept.files), target, recorded.state.server, is_parent=False)
            run.members.scan()  # those too that its keeper hadn't written down yet
            for member in run.members.alive():
                send_signal(member, signal.SIGKILL)
            wait_until(lambda run=run: not run.members.alive())  # type: ignore[misc]  # bound
            run.remove_cgroup()


@pytest.fixture
def keeping(tmp_path: Path) -> Iterator[Keeping]:
    keeping = Keeping(Places(state=tmp_path / "state", config=tmp_path / "config"))
    yield keeping
    keeping.clean_up()


@pytest.fixture
def decoy() -> Iterator[int]:
    """A process of ours whose command line says sglang, and that belongs to no launch."""
    words = ["-c", "import time; time.sleep(600)", "sglang.launch_server", "sglang::scheduler", "server"]
    process = subprocess.Popen([sys.executable, *words], start_new_session=True)
    yield process.pid
    process.kill()
    process.wait()
