"""Launches on disk that never ran."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec

from tui.keeper.records import LaunchRecords
from tui.keeper.states import State
from tui.launch.directory import create_launch, next_launch
from tui.launch.records import LaunchRecord, Machine
from tui.paths import Places

GONE = 2**22 + 5  # a pid above any pid_max


def make_launch(places: Places, name: str = "one", **fields: Any) -> LaunchRecords:
    """A launch; its further records are to be written by the test."""
    places.instances.mkdir(parents=True, exist_ok=True)
    launch = LaunchRecord(
        name=name,
        launch=next_launch(places, name),
        created_at=datetime.now(UTC),
        argv=["python", "-m", "sglang.launch_server", "--model-path", "m", "--port", "31000"],
        model="m",
        host="127.0.0.1",
        port=31000,
        gpus=[],
        mark="no such mark",
        machine=Machine.this(),
        cwd="/",
    )
    return LaunchRecords(create_launch(places, msgspec.structs.replace(launch, **fields)))


def make_ended_launch(places: Places, name: str = "one", state: State = State.STOPPED, **fields: Any) -> LaunchRecords:
    """A launch whose end is on record."""
    records = make_launch(places, name, **fields)
    records.end(state, asked=state is State.STOPPED, unstarted=True)
    return records
