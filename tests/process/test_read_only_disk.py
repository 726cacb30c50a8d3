"""A state folder that becomes read-only under a running server, as after an error of its disk."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.process.test_adopt import launch_answering
from tests.support.keeping import Keeping, is_running
from tests.support.waiting import wait_until
from tui.errors import RefusedError, SgltuiError
from tui.keeper.stop import StopRequest
from tui.launch import guard
from tui.launch.stop import stop_launch

QUICK = StopRequest(grace_s=0.2, release_wait_s=0)


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """The same files, seen through a mount that can't be written; what is open stays open."""
    bind = ["mount", "--bind", str(folder), str(folder)]
    if os.geteuid() != 0 or subprocess.run(bind, check=False, capture_output=True).returncode != 0:
        pytest.skip("nothing can be mounted here")
    try:
        # Busy while somebody has a file open that was opened for writing since the line above.
        remount = ["mount", "-o", "remount,bind,ro", str(folder)]
        wait_until(lambda: subprocess.run(remount, check=False, capture_output=True).returncode == 0)
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def test_a_keeper_waits_until_it_can_write_down_an_end(keeping: Keeping, unused_tcp_port: int) -> None:
    kept = launch_answering(keeping, unused_tcp_port)
    kept.wait_for("ready")
    server, keeper = kept.pid, kept.keeper_pid
    with read_only(keeping.places.state):
        with pytest.raises(SgltuiError, match="Read-only file system"):
            stop_launch(keeping.places, "server", QUICK)
        with pytest.raises(RefusedError, match="Read-only file system"):
            guard.check_space(keeping.places.instances)
        os.kill(server, signal.SIGKILL)
        wait_until(lambda: not is_running(server))
        assert kept.read().exit is None
        assert is_running(keeper)
    assert kept.exit()["signal"] == "SIGKILL", "its own child's status"
    wait_until(lambda: not kept.read().is_attended)
    assert kept.state == "exited"
