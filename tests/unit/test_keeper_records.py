"""What a keeper writes and remembers: on a disk that refuses, behind half a line, and of processes long gone."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest

from tui.keeper import again, locks, records, run
from tui.keeper.evidence import DrainWatch, Evidence, read_evidence
from tui.keeper.files import CURRENT, LaunchFiles
from tui.keeper.identity import ProcessIdentity, identify
from tui.keeper.keeper import Keeper
from tui.keeper.members import Members
from tui.keeper.order import Order
from tui.keeper.progress import LOADING, LineWatch
from tui.keeper.records import LaunchRecords
from tui.keeper.restart_policy import recurring
from tui.keeper.run import Run, Target
from tui.keeper.states import State

GONE = 2**22 + 5  # above any pid_max


def myself() -> ProcessIdentity:
    identity = identify(os.getpid())
    assert identity is not None
    return identity


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EKEYEXPIRED, errno.EMFILE])
def test_what_a_disk_refuses_now_is_written_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    files = LaunchFiles(tmp_path)
    kept = LaunchRecords(files)
    with monkeypatch.context() as patch:

        def refuse(*_: object) -> None:
            raise OSError(code, os.strerror(code))

        patch.setattr(records, "write_atomic", refuse)
        kept.move(State.STARTING)
        assert not kept.flush()
    assert not files.state.exists()
    assert kept.flush()
    assert json.loads(files.state.read_bytes())["state"] == "starting"


def test_a_log_that_cannot_be_read_ends_nobody(tmp_path: Path) -> None:
    """A folder in its place refuses every read, as a disk does that is away."""
    assert not LineWatch(tmp_path, LOADING).has_come()
    assert read_evidence(tmp_path) == Evidence()
    assert DrainWatch(tmp_path).remaining() is None
    assert locks.named(tmp_path) == set()
    assert recurring(tmp_path) is None


def test_requests_that_cannot_be_looked_for_are_none_yet(tmp_path: Path) -> None:
    files = LaunchFiles(tmp_path)
    files.requests.touch()  # no folder
    keeper = Keeper(LaunchRecords(files), Target("mark", "127.0.0.1", 1, [], None), Order([], {}, "/", None), 0)
    assert keeper._asked() is None


def test_an_event_behind_half_a_line_has_a_line_of_its_own(tmp_path: Path) -> None:
    """A full disk may take a part of it."""
    files = LaunchFiles(tmp_path)
    kept = LaunchRecords(files)
    kept.tell({"event": "first"})
    os.truncate(files.events, files.events.stat().st_size - 5)
    kept.tell({"event": "second"})
    kept.tell({"event": "third"})
    _, second, third = files.events.read_bytes().splitlines()
    assert [json.loads(line)["event"] for line in (second, third)] == ["second", "third"]


def test_a_number_that_is_somebody_elses_by_now_holds_nothing_of_ours() -> None:
    me = myself()
    earlier = ProcessIdentity(me.pid, me.start_ticks - 1, me.session, me.boot_id)
    dead = ProcessIdentity(GONE, 1, GONE, me.boot_id)
    assert Members(dead, "mark", None, [earlier]).ever == {GONE}
    assert Members(dead, "mark", None, [me]).ever == {GONE, me.pid}


def test_kills_of_long_ago_are_of_somebody_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counter = tmp_path / "memory.events"
    counter.write_text("oom_kill 3\n")
    kept = LaunchRecords(LaunchFiles(tmp_path))
    kept.note(oom_counter={"path": str(counter), "kills": 2})
    target = Target("mark", "127.0.0.1", 1, [], None)
    watched = Run(kept, target, myself(), is_parent=False)
    watched.forget_old_kills()
    assert watched.oom_victim() == 0, "just now"
    monkeypatch.setattr(run, "_KILLS_COUNT_S", 0.0)
    watched.forget_old_kills()
    assert watched.oom_victim() == 0
    watched.forget_old_kills()
    assert watched.oom_victim() is None
    counter.write_text("oom_kill 4\n")
    assert watched.oom_victim() == 0


def test_a_restart_that_cannot_be_recorded_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = LaunchFiles(tmp_path / "20261130T000000Z-0001")
    files.requests.mkdir(parents=True)
    (tmp_path / CURRENT).symlink_to(files.directory.name)
    files.launch.write_text(json.dumps({"restart": {"limit": 1, "backoff_s": 0}}))
    files.exit.write_text(json.dumps({"state": "failed"}))

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))  # of a write, which names no file

    monkeypatch.setattr(again, "_record", refuse)
    assert again.next_attempt(files, Order([], {"A": "b"}, "/", None)) is None
    why = f"not restarted: No space left on device: {tmp_path}"
    assert json.loads(files.exit.read_bytes())["restart"] == why


@pytest.mark.parametrize("refused", ["write_atomic", "try_lock", "point_symlink"])
def test_a_restart_that_cannot_be_recorded_leaves_no_half_launch(
    refused: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = LaunchFiles(tmp_path / "20261130T000000Z-0001")
    files.requests.mkdir(parents=True)
    (tmp_path / CURRENT).symlink_to(files.directory.name)
    files.launch.write_text(json.dumps({"restart": {"limit": 1, "backoff_s": 0}}))
    files.exit.write_text(json.dumps({"state": "failed"}))

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(again, refused, refuse)
    assert again.next_attempt(files, Order([], {"A": "b"}, "/", None)) is None
    assert sorted(path.name for path in tmp_path.iterdir()) == [files.directory.name, CURRENT]
    assert (tmp_path / CURRENT).readlink() == Path(files.directory.name)
