"""Who belongs to a launch: never somebody with a number that was used before."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

from tests.support.keeping import Keeping, is_running
from tests.support.waiting import wait_until
from tui.keeper import procfs
from tui.keeper.identity import ProcessIdentity, identify, send_signal
from tui.keeper.members import Members
from tui.keeper.stop import StopRequest
from tui.launch.stop import stop_launch

QUICK = StopRequest(grace_s=0.2, release_wait_s=0)


def test_a_recycled_pid_is_never_signalled(decoy: int) -> None:
    real = identify(decoy)
    assert real is not None
    for stranger in (
        ProcessIdentity(decoy, real.start_ticks - 1, real.session, real.boot_id),
        ProcessIdentity(decoy, real.start_ticks, real.session, "another boot"),
    ):
        assert not send_signal(stranger, signal.SIGKILL)
    assert is_running(decoy)
    assert send_signal(real, signal.SIGCONT)


def daemon_without_marks() -> tuple[int, int]:
    """A double-forked daemon of ours in a session whose leader is gone: its pid, and the session's number."""
    words = (
        "import os, time\nos.setsid()\nif os.fork(): os._exit(0)\n"
        "print(os.getpid(), os.getsid(0), flush=True)\ntime.sleep(600)"
    )
    launcher = subprocess.Popen([sys.executable, "-c", words], stdout=subprocess.PIPE, text=True)
    assert launcher.stdout is not None
    pid, session = map(int, launcher.stdout.readline().split())
    launcher.wait()
    launcher.stdout.close()
    return pid, session


@pytest.mark.parametrize("boot", ["this boot", "the boot before"])
def test_a_session_number_that_is_used_again_makes_nobody_a_member(keeping: Keeping, boot: str) -> None:
    innocent, session = daemon_without_marks()
    try:
        kept = keeping.launch([sys.executable, "-c", "pass"])
        kept.wait_for("failed")
        wait_until(lambda: not kept.read().is_attended)
        here = identify(os.getpid())
        assert here is not None
        boot_id = here.boot_id if boot == "this boot" else boot
        server = ProcessIdentity(session, 1, session, boot_id).as_json()
        kept.files.exit.unlink()
        kept.files.state.write_text(json.dumps({"state": "ready", "server": server, "members": [server]}))
        assert kept.state == "lost"
        report = stop_launch(keeping.places, "server", QUICK)
        assert report.stopped == ()
        assert is_running(innocent)
        assert kept.exit()["state"] == "lost", "nobody stopped it, and it isn't said"
    finally:
        os.kill(innocent, signal.SIGKILL)


def test_a_pid_that_changes_hands_while_its_tree_is_walked_makes_nobody_a_member(
    monkeypatch: pytest.MonkeyPatch, decoy: int
) -> None:
    root = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    try:
        server = identify(root.pid)
        assert server is not None
        # What a stale look at `children` gives: the pid was a child's, and is the decoy's now.
        monkeypatch.setattr(procfs, "children", lambda pid: iter([decoy] if pid == root.pid else []))
        members = Members(server, "no mark", None)
        members.refresh()
        assert members.alive() == [server]
    finally:
        root.kill()
        root.wait()
