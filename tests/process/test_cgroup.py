"""A cgroup for each server, where one can be made: what has rubbed off every other mark is still found in it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.keeping import Keeping, Kept, is_running
from tests.support.waiting import wait_until
from tui.keeper import cgroup
from tui.keeper.stop import StopRequest
from tui.launch.stop import stop_launch

QUICK = StopRequest(grace_s=0.2, release_wait_s=0)
UUID = "a" * 32

# Nothing of a launch is left of it but its cgroup: another session, environment, output, and parent.
STRANGER = """
import os, sys, time
print("up", flush=True)
while not os.path.exists(sys.argv[1]): time.sleep(0.01)
if os.fork() == 0:
    os.setsid()
    if os.fork(): os._exit(0)
    null = os.open(os.devnull, os.O_RDWR)
    for number in range(3): os.dup2(null, number)
    tell = "import os, sys, time; open(sys.argv[1], 'w').write(str(os.getpid())); time.sleep(600)"
    os.execve(sys.executable, [sys.executable, "-c", tell, sys.argv[2]], {})
time.sleep(600)
"""


@pytest.fixture
def divisible() -> None:
    if cgroup.place_for(UUID) is None:
        pytest.skip("no cgroup can be made here")


def cgroup_of(kept: Kept) -> Path:
    return Path(json.loads(kept.files.state.read_text())["cgroup"])


@pytest.mark.usefixtures("divisible")
def test_a_process_without_any_other_mark_is_found_and_ended(keeping: Keeping, tmp_path: Path, decoy: int) -> None:
    go, pid_file = tmp_path / "go", tmp_path / "pid"
    kept = keeping.launch([sys.executable, "-c", STRANGER, str(go), str(pid_file)])
    wait_until(lambda: kept.files.log.exists() and kept.files.log.read_bytes() == b"up\n", what=kept.trouble())
    folder = cgroup_of(kept)
    assert kept.pid in cgroup.members(folder)
    assert kept.keeper_pid not in cgroup.members(folder)
    os.kill(kept.keeper_pid, signal.SIGKILL)  # it would adopt the orphan
    wait_until(lambda: not kept.read().is_attended)
    go.touch()
    wait_until(lambda: pid_file.exists() and pid_file.read_text())
    stranger = int(pid_file.read_text())
    report = stop_launch(keeping.places, "server", QUICK)
    assert stranger in report.stopped
    assert not is_running(stranger)
    assert is_running(decoy)
    assert not folder.exists()


@pytest.mark.usefixtures("divisible")
def test_what_cannot_be_run_leaves_no_cgroup(keeping: Keeping) -> None:
    kept = keeping.launch(["/no/such/program"])
    kept.wait_for("failed")
    wait_until(lambda: not kept.read().is_attended)
    assert not cgroup_of(kept).exists()


@pytest.mark.usefixtures("divisible")
def test_a_cgroup_with_somebody_in_it_stays_until_it_is_empty() -> None:
    folder = cgroup.place_for(UUID)
    assert folder is not None
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        assert cgroup.enclose(folder, process.pid)
        (folder / "below").mkdir()
        cgroup.remove(folder)
        assert cgroup.members(folder) == {process.pid}
        process.communicate(b"\n")
    cgroup.remove(folder)
    assert not folder.exists()


def test_a_cgroup_of_somebody_else_is_not_ours_to_end(keeping: Keeping, tmp_path: Path, decoy: int) -> None:
    """A record that was tampered with, or a name that was used again."""
    foreign = tmp_path / "system.slice"
    foreign.mkdir()
    (foreign / "cgroup.procs").write_text(f"{decoy}\n")
    kept = keeping.launch([sys.executable, "-c", "import time; time.sleep(600)"])
    kept.wait_for("starting")
    os.kill(kept.keeper_pid, signal.SIGKILL)
    wait_until(lambda: not kept.read().is_attended)
    own = json.loads(kept.files.state.read_text())
    kept.files.state.write_text(json.dumps({**own, "cgroup": str(foreign)}))
    assert decoy not in stop_launch(keeping.places, "server", QUICK).stopped
    assert is_running(decoy)
    assert foreign.exists()
    if own["cgroup"] is not None:
        cgroup.remove(Path(own["cgroup"]))


def test_where_none_can_be_made_nothing_is_left_of_the_try(tmp_path: Path) -> None:
    """On a file system without cgroups the list of processes isn't there; a kernel that refuses says so as well."""
    assert not cgroup.enclose(tmp_path / "sgltui-x", os.getpid())
    assert not (tmp_path / "sgltui-x").exists()
    assert not cgroup.enclose(tmp_path / "not there" / "sgltui-x", os.getpid())
    assert cgroup.members(tmp_path / "gone") == set()
    cgroup.remove(tmp_path / "gone")


@pytest.mark.parametrize(
    ("own", "mount", "below"),
    [
        ("0::/user.slice/a.scope", "{point}/user.slice/a.scope|/ {point}", "user.slice/a.scope"),
        ("4:memory:/x\n0::/", "{point}|/ {point}", ""),  # a hybrid of both versions; a namespace of its own
        ("0::/docker/1/init", "{point}/init|/docker/1 {point}", "init"),  # the host's paths, a part of them mounted
        ("0::/docker/12", "{point}|/docker/1 {point}", None),  # a part that isn't ours
        ("0::/../../a.scope", "{point}|/ {point}", None),  # outside what can be seen
        ("4:memory:/x", "{point}|/ {point}", None),  # version 1 alone
        ("0::/elsewhere", "{point}/a|/ {point}", None),  # we aren't found where the paths say
    ],
)
def test_where_our_own_cgroup_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own: str, mount: str, below: str | None
) -> None:
    folder, _, line = mount.format(point=tmp_path / "fs").partition("|")
    Path(folder).mkdir(parents=True)
    (Path(folder) / "cgroup.procs").write_text(f"1\n{os.getpid()}\n")
    proc = tmp_path / "proc"
    for name in ("self", str(os.getpid())):
        (proc / name).mkdir(parents=True)
    (proc / str(os.getpid()) / "cgroup").write_text(f"{own}\n")
    (proc / "self" / "mountinfo").write_text(
        f"24 1 0:22 / /proc rw - proc proc rw\n36 1 0:30 {line} rw - cgroup2 none rw\n"
    )
    monkeypatch.setattr(cgroup, "PROC", proc)
    assert cgroup.find(os.getpid()) == (None if below is None else tmp_path / "fs" / below)


def test_another_users_cgroup_is_not_divided() -> None:
    """CI runs as root, who may do anything."""
    own = cgroup.find(os.getpid())
    if own is None or os.geteuid() != 0:
        pytest.skip("there is no cgroup 2 here, or it can't be asked as another user")
    words = "import os; from pathlib import Path; from tui.keeper import cgroup; os.setuid(65534)"
    answer = f"{words}; print(cgroup.can_divide(Path({str(own)!r})), cgroup.place_for('x'))"
    done = subprocess.run([sys.executable, "-c", answer], capture_output=True, text=True, check=True)
    assert done.stdout == "False None\n"
