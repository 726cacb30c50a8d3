"""What the doctor finds on machines that have something wrong, each with its remedy."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.launches import GONE, make_ended_launch, make_launch
from tui.gpu import GpuReading
from tui.keeper import cgroup
from tui.keeper.identity import ProcessIdentity, boot_id
from tui.keeper.states import State
from tui.launch.doctor import Check, Level, examine
from tui.launch.login import find_ending
from tui.launch.mounts import find_mount
from tui.launch.records import RecordError, find_launch
from tui.paths import Places
from tui.settings import Settings


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(state=tmp_path / "state", config=tmp_path / "config")


def find(places: Places, topic: str, *, ok: bool = False) -> list[Check]:
    checks = examine(places, Settings(python=sys.executable), GpuReading())
    assert all(check.remedy for check in checks if check.level is not Level.OK), "each with its remedy"
    return [check for check in checks if check.topic == topic and (ok or check.level is not Level.OK)]


def test_a_healthy_folder_is_said_to_be_one(places: Places) -> None:
    make_ended_launch(places)
    assert find(places, "records") == []
    assert [check.what for check in find(places, "records", ok=True)] == ["1 servers on record"]
    assert find(places, "servers") == []


def test_an_interpreter_without_sglang_is_a_problem(places: Places) -> None:
    [check] = find(places, "SGLang")
    assert check.level is Level.PROBLEM
    assert sys.executable in check.what


@pytest.mark.parametrize(
    ("name", "text", "level", "part"),
    [
        ("launch.json", "[1", Level.PROBLEM, "isn't a record of ours"),
        ("state.json", '{"schema": 2, "state": "floating"}', Level.PROBLEM, "was written by a newer sgltui"),
        ("launch.json", None, Level.WARNING, "is missing"),
    ],
)
def test_broken_newer_and_half_deleted_records_are_named(
    places: Places, name: str, text: str | None, level: Level, part: str
) -> None:
    broken = make_ended_launch(places)
    make_ended_launch(places, "whole")
    path = broken.files.directory / name
    if text is None:
        path.unlink()
    else:
        path.write_text(text)
    [check] = find(places, "records")
    assert check.level is level
    assert str(path) in check.what
    assert part in check.what
    with pytest.raises(RecordError):
        find_launch(places, "one")
    assert find_launch(places, "whole").exit is not None, "the rest works"


def test_a_server_without_a_keeper_is_named(places: Places) -> None:
    records = make_launch(places, "lonely")
    nobody = ProcessIdentity(GONE, 1, GONE, boot_id())
    records.note(keeper=nobody.as_json())
    records.move(State.STARTING, server=nobody.as_json())
    [check] = find(places, "servers")
    assert (check.what, check.remedy) == ("lonely has no keeper", "`sgltui adopt lonely`")


def test_a_state_folder_that_cannot_be_written(places: Places) -> None:
    places.state.write_text("")  # a file in its place: refused for root too
    [check] = find(places, "state folder")
    assert check.level is Level.PROBLEM
    assert "Not a directory" in check.what


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to mount")
@pytest.mark.parametrize(
    ("options", "level"), [("size=32m", Level.PROBLEM), ("size=200m", Level.WARNING), ("ro", Level.PROBLEM)]
)
def test_small_and_read_only_file_systems(places: Places, options: str, level: Level) -> None:
    places.instances.mkdir(parents=True)
    mount = ["mount", "-t", "tmpfs", "-o", options, "none", str(places.instances)]
    if subprocess.run(mount, check=False, capture_output=True).returncode != 0:
        pytest.skip("mounting isn't allowed here")
    try:
        [check] = find(places, "state folder")
        assert check.level is level
    finally:
        subprocess.run(["umount", str(places.instances)], check=True)


def test_which_file_system_a_path_is_on(tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    home = tmp_path / "a home"
    home.mkdir()
    mounts.write_text(
        f"/dev/sda / ext4 rw 0 0\nbox:/h {str(home).replace(' ', chr(92) + '040')} nfs4 rw,vers=4.2 0 0\n"
        f"proc /proc proc rw,hidepid=2 0 0\n"
    )
    found = find_mount(home / "x", mounts)
    assert found is not None
    assert found.kind == "nfs4"
    assert (find_mount(tmp_path, mounts) or found).kind == "ext4"
    assert "hidepid=2" in (find_mount(Path("/proc"), mounts) or found).options


LOGIN = "etc/systemd/logind.conf"
DROP_IN = "usr/lib/systemd/logind.conf.d/50-site.conf"
KILLS = "[Login]\nKillUserProcesses=yes\n"
LINGERS = {"var/lib/systemd/linger/alice": ""}
SESSION = "4:memory:/x\n0::/user.slice/user-1000.slice/session-3.scope\n"
MANAGER = "0::/user.slice/user-1000.slice/user@1000.service/app.slice/run-u7.scope\n"


@pytest.mark.parametrize(
    ("own", "files", "ends"),
    [
        (SESSION, {}, False),
        (SESSION, {LOGIN: "[Login]\n#KillUserProcesses=yes\n"}, False),
        (SESSION, {LOGIN: KILLS}, True),
        (SESSION, {LOGIN: KILLS, DROP_IN: "[Login]\nKillUserProcesses = no\n"}, False),
        (SESSION, {"etc/systemd/logind.conf.d/50-site.conf": KILLS, DROP_IN: "KillUserProcesses=no\n"}, True),
        # `session_stop_scope` doesn't ask whether the user lingers: that keeps the user's manager alone.
        (SESSION, {LOGIN: KILLS, **LINGERS}, True),
        (SESSION, {LOGIN: KILLS + "KillExcludeUsers=bob alice\n"}, False),
        (SESSION, {LOGIN: KILLS + "KillExcludeUsers=alice\nKillExcludeUsers=\n"}, True),
        (SESSION, {LOGIN: KILLS + "KillOnlyUsers=bob\n"}, False),
        (SESSION, {LOGIN: "KillOnlyUsers=bob\n", DROP_IN: "KillOnlyUsers=alice\n"}, True),
        (MANAGER, {}, True),
        (MANAGER, LINGERS, False),
        (MANAGER, {"var/lib/systemd/linger/bob": ""}, True),
        (MANAGER, {LOGIN: KILLS, **LINGERS}, False),
        ("0::/system.slice/sshd.service\n", {LOGIN: KILLS}, False),
        ("0::/\n", {LOGIN: KILLS}, False),
        (None, {LOGIN: KILLS}, False),
    ],
)
def test_whether_a_logout_ends_servers(tmp_path: Path, own: str | None, files: dict[str, str], ends: bool) -> None:
    given = files if own is None else files | {"proc/self/cgroup": own}
    for name, text in given.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    found = find_ending(tmp_path, "alice")
    assert (found is not None) is ends
    assert found is None or "loginctl enable-linger" in found.remedy


def test_root_is_spared_unless_the_files_say_otherwise(tmp_path: Path) -> None:
    login = tmp_path / LOGIN
    for path, text in ((tmp_path / "proc/self/cgroup", SESSION), (login, KILLS)):
        path.parent.mkdir(parents=True)
        path.write_text(text)
    assert find_ending(tmp_path, "root") is None
    login.write_text(KILLS + "KillExcludeUsers=\n")
    assert find_ending(tmp_path, "root") is not None


def test_a_user_without_a_name_is_examined_too(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container that was started with `--user 4711`."""
    monkeypatch.setattr(os, "geteuid", lambda: 4_000_000_000)
    assert find(places, "login manager", ok=True)


def test_records_that_cannot_be_listed_hide_nothing_else(places: Places) -> None:
    places.state.mkdir()
    places.instances.symlink_to(places.instances)  # refused for root, too
    assert find(places, "records")
    assert find(places, "login manager", ok=True)


@pytest.mark.parametrize(
    ("own", "divisible", "said"),
    [
        ("/sys/fs/cgroup/a.scope", True, "each server gets a cgroup of its own below /sys/fs/cgroup/a.scope"),
        ("/sys/fs/cgroup/a.scope", False, "no cgroup of their own (/sys/fs/cgroup/a.scope isn't ours to divide)"),
        (None, False, "no cgroup of their own (there is no cgroup 2 here)"),
    ],
)
def test_whether_servers_get_a_cgroup_is_said(
    places: Places, monkeypatch: pytest.MonkeyPatch, own: str | None, divisible: bool, said: str
) -> None:
    monkeypatch.setattr(cgroup, "find", lambda _: None if own is None else Path(own))
    monkeypatch.setattr(cgroup, "can_divide", lambda _: divisible)
    [check] = [check for check in find(places, "cgroup", ok=True) if "own" in check.what]
    assert check.level is Level.OK
    assert said in check.what
    assert ("systemd-run --user --scope" in check.remedy) is (own is not None and not divisible)
