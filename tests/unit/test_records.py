"""Reading records: of this machine, of another in a shared home, from before a reboot, and broken ones."""

from __future__ import annotations

import errno
import os
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.support.keeping import is_running
from tui.errors import RefusedError
from tui.gpu import GpuReading
from tui.keeper.identity import ProcessIdentity, identify
from tui.keeper.records import LaunchRecords, utc_now
from tui.keeper.states import State
from tui.keeper.stop import StopRequest
from tui.launch import guard
from tui.launch import records as launch_records
from tui.launch.directory import create_launch, next_launch, previous_launch
from tui.launch.records import LaunchRecord, Machine, RecordError, find_launch, list_launches, read_newest
from tui.launch.stop import stop_launch
from tui.observe import Observer
from tui.paths import Places

GONE = 2**22 + 5  # above any pid_max


@pytest.fixture
def places(tmp_path: Path) -> Places:
    places = Places(state=tmp_path / "state", config=tmp_path / "config")
    places.instances.mkdir(parents=True)
    return places


class NoGpus:
    def read(self) -> GpuReading:
        return GpuReading()

    def close(self) -> None: ...


def myself() -> ProcessIdentity:
    """A process that is alive for sure."""
    identity = identify(os.getpid())
    assert identity is not None
    return identity


def record(places: Places, name: str = "one", machine: Machine | None = None, **fields: Any) -> LaunchRecords:
    """A launch on disk; its records are to be written by the test."""
    launch = LaunchRecord(
        name=name,
        launch=next_launch(places, name),
        created_at=datetime.now(UTC),
        argv=["python"],
        model="m",
        host="127.0.0.1",
        port=31000,
        gpus=[],
        mark="no such mark",
        machine=machine or Machine.this(),
        cwd="/",
    )
    return LaunchRecords(create_launch(places, msgspec.structs.replace(launch, **fields)))


def run_as(records: LaunchRecords, server: ProcessIdentity, state: State = State.READY) -> None:
    """Write the states of a launch whose server is `server` and that nobody attends."""
    records.move(State.STARTING, server=server.as_json(), members=[server.as_json()], started_at=utc_now())
    if state is not State.STARTING:
        records.move(State.LOADING)
        records.move(state)


def other_machine(**fields: str) -> Machine:
    return msgspec.structs.replace(Machine.this(), **fields)


def only_instance(places: Places) -> Any:
    [instance] = Observer(places, NoGpus()).observe().instances
    return instance


def test_a_running_server_without_a_keeper_is_shown_as_not_attended(places: Places) -> None:
    run_as(record(places), myself())
    instance = only_instance(places)
    assert (instance.state, instance.attended, instance.local) == (State.READY, False, True)
    assert instance.pid == os.getpid()


def test_a_server_that_went_with_its_keeper_is_lost(places: Places) -> None:
    me = myself()
    run_as(record(places), ProcessIdentity(GONE, 1, GONE, me.boot_id))
    instance = only_instance(places)
    assert instance.state is State.LOST
    assert instance.pid is None
    assert "gone without a trace" in instance.cause


def test_an_end_that_is_written_while_its_records_are_read_is_seen(
    places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The keeper writes it and goes, just after somebody has found no end there."""
    records = record(places)
    gone = ProcessIdentity(GONE, 1, GONE, myself().boot_id)
    records.note(keeper=gone.as_json())
    run_as(records, gone)
    decode = launch_records._decode

    def decode_late(path: Path, kind: Any) -> Any:
        found = decode(path, kind)
        if path == records.files.state and not records.files.exit.exists():
            records.end(State.STOPPED, asked=True)
        return found

    monkeypatch.setattr(launch_records, "_decode", decode_late)
    read = launch_records.read_launch(records.files.directory)
    assert read.current_state() is State.STOPPED
    assert read.exit is not None


def test_a_reboot_turns_the_records_of_this_host_into_the_past(places: Places) -> None:
    me = myself()
    before = other_machine(boot_id="the boot before", pid_namespace="pid:[1]")
    run_as(record(places, machine=before), ProcessIdentity(me.pid, me.start_ticks, me.session, "the boot before"))
    instance = only_instance(places)
    assert (instance.state, instance.local, instance.members) == (State.LOST, True, ())


@pytest.mark.parametrize(
    "other",
    [
        {"hostname": "gpu-box-9"},
        {"pid_namespace": "pid:[1]"},
        {"time_namespace": "time:[1]"},
        {"machine_id": "f" * 32},
    ],
)
def test_what_another_machine_records_is_shown_and_left_alone(places: Places, other: dict[str, str]) -> None:
    # The same pid and start time as ours: pure chance on another host, and no reason to signal anybody here.
    run_as(record(places, machine=other_machine(**other)), myself())
    instance = only_instance(places)
    assert (instance.state, instance.local, instance.members) == (State.READY, False, ())
    with pytest.raises(RefusedError, match="not here"):
        stop_launch(places, "one", StopRequest(release_wait_s=0))
    with pytest.raises(RefusedError, match="in another namespace or host"):
        guard.check_name(places, "one")
    assert is_running(os.getpid())


def test_a_launch_that_no_keeper_ever_took_is_pending_and_then_lost(places: Places) -> None:
    record(places, "fresh")
    record(places, "old", created_at=datetime(2026, 1, 1, tzinfo=UTC))
    states = {one.name: one.state for one in Observer(places, NoGpus()).observe().instances}
    assert states == {"fresh": State.PENDING, "old": State.LOST}
    guard.check_name(places, "old")


@pytest.mark.parametrize(
    ("name", "rubbish"),
    [
        ("launch.json", b""),
        ("launch.json", b"[1]"),
        ("state.json", b'{"state": "dancing"}'),
        ("state.json", b'{"started_at": "yesterday"}'),
        ("exit.json", b'{"state": "failed", "at": "x"}'),
        ("exit.json", b'{"state": "stopped", "at": "2026-01-01T00:00:00Z", "stop": {}}'),
    ],
)
def test_a_broken_record_is_told_and_hides_nobody(places: Places, name: str, rubbish: bytes) -> None:
    records = record(places, "broken")
    run_as(record(places, "whole"), myself())
    (records.files.directory / name).write_bytes(rubbish)
    snapshot = Observer(places, NoGpus()).observe()
    assert [one.name for one in snapshot.instances] == ["whole"]
    [broken] = snapshot.broken
    assert broken.name == "broken"
    assert str(records.files.directory / name) in broken.message
    with pytest.raises(RecordError):
        find_launch(places, "broken")


def test_a_copy_of_the_records_isnt_a_second_server(places: Places) -> None:
    """Two of one name would be stopped together, and make an exposition that no collector takes."""
    run_as(record(places, "one"), myself())
    shutil.copytree(places.instances / "one", places.instances / "one.bak", symlinks=True)
    snapshot = Observer(places, NoGpus()).observe()
    assert [one.name for one in snapshot.instances] == ["one"]
    [broken] = snapshot.broken
    assert (broken.name, "is a copy of one's records" in broken.message) == ("one.bak", True)
    with pytest.raises(RecordError, match="is a copy of one's records"):
        find_launch(places, "one.bak")


def test_what_a_later_version_adds_to_a_record_is_no_reason_to_refuse_it(places: Places) -> None:
    records = record(places)
    run_as(records, myself())
    records.note(invented_later={"a": 1})
    assert only_instance(places).state is State.READY


def test_the_launch_before_is_the_last_whole_one(places: Places) -> None:
    """A full disk may have left a directory without a record: nothing was ever started there."""
    first = record(places, "one").files.directory.name
    (places.instances / "one" / next_launch(places, "one")).mkdir()
    record(places, "one")
    found = previous_launch(places, find_launch(places, "one"))
    assert found is not None
    assert found.launch.launch == first
    assert previous_launch(places, found) is None


@pytest.mark.parametrize("refused", ["write_atomic", "point_symlink"])
def test_a_launch_that_cannot_be_recorded_leaves_nothing(
    refused: str, places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(f"tui.launch.directory.{refused}", refuse)
    with pytest.raises(RefusedError, match="No space left on device"):
        record(places, "one")
    assert list_launches(places, "one") == []


def test_launches_are_numbered_in_order_also_when_the_clock_is_set_back(places: Places) -> None:
    (places.instances / "one" / "29991231T235959Z-0009").mkdir(parents=True)
    assert next_launch(places, "one") == "29991231T235959Z-0010"
    assert next_launch(places, "two").endswith("-0001")


def test_the_newest_launch_is_what_a_name_means_and_the_earlier_ones_can_be_named(places: Places) -> None:
    first, second = record(places), record(places)
    launches = list_launches(places, "one")
    assert len(launches) == 2
    newest = read_newest(places, "one")
    assert newest is not None
    assert newest.files.directory == second.files.directory
    assert find_launch(places, f"one/{launches[0]}").files.directory == first.files.directory
    earlier = previous_launch(places, newest)
    assert earlier is not None
    assert earlier.files.directory == first.files.directory
    assert previous_launch(places, earlier) is None
