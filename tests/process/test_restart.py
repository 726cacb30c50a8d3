"""A failed server is launched again by its keeper, as its preset asks; and not where it would fail again."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

import pytest

from tests.support.keeping import Keeping, Kept
from tests.support.logs import FIXTURES
from tests.support.steps import Steps
from tests.support.waiting import wait_until
from tui.keeper.files import LaunchFiles
from tui.keeper.restart_policy import decide, recurring
from tui.keeper.stop import StopRequest
from tui.launch.adopt import adopt_launch
from tui.launch.records import RestartRecord, list_launches, read_launch
from tui.launch.stop import stop_launch
from tui.presets import load_preset

QUICK = StopRequest(grace_s=0.2, release_wait_s=0)
FAIL = [sys.executable, "-c", "import os; print(os.environ['SGLTUI_LAUNCH_MARK'], flush=True); os._exit(1)"]


def launches(keeping: Keeping) -> list[Kept]:
    home = keeping.places.instances / "server"
    made = [LaunchFiles(home / name) for name in list_launches(keeping.places, "server")]
    return [Kept(files) for files in made if files.launch.exists()]


def wait_for_word(keeping: Keeping, word: str) -> Kept:
    """Until the newest launch has ended with this word on its restart."""

    def has_word() -> bool:
        ended = launches(keeping)[-1].read().exit
        return ended is not None and word in (ended.restart or "")

    wait_until(has_word, 60, f"{word} in {[launch.read().exit for launch in launches(keeping)]}")
    return launches(keeping)[-1]


def test_a_server_that_fails_is_launched_again_as_often_as_allowed(keeping: Keeping) -> None:
    first = keeping.launch(FAIL, restart=RestartRecord(limit=2, backoff_s=0.01))
    wait_for_word(keeping, "not restarted any more after 2 restarts")
    made = launches(keeping)
    assert [launch.read().launch.attempt for launch in made] == [1, 2, 3]
    assert first.exit()["restart"] == "restart 1 of 2 in 0.01 s"
    marks = [launch.files.log.read_text().strip() for launch in made]
    assert marks == [launch.read().launch.mark for launch in made], "each has a log and a mark of its own"
    assert len(set(marks)) == 3
    assert (keeping.places.instances / "server" / "current").resolve() == made[-1].files.directory
    wait_until(lambda: not made[-1].read().is_attended)
    assert {launch.read().exit.stop.survivors for launch in made} == {()}  # type: ignore[union-attr]  # all have ended


def test_a_stop_during_the_pause_calls_it_off(keeping: Keeping) -> None:
    kept = keeping.launch(FAIL, restart=RestartRecord(limit=5, backoff_s=3600))
    wait_for_word(keeping, "restart 1 of 5 in 300 s")
    stop_launch(keeping.places, "server", QUICK)
    wait_for_word(keeping, "not restarted: it was stopped")
    wait_until(lambda: not kept.read().is_attended)
    assert len(launches(keeping)) == 1


def test_a_launch_by_hand_during_the_pause_wins(keeping: Keeping, steps: Steps) -> None:
    steps.hold("keeper-pauses")
    keeping.launch(FAIL, restart=RestartRecord(limit=5, backoff_s=0))
    steps.reached("keeper-pauses")
    second = keeping.launch([sys.executable, "-c", "import time; time.sleep(600)"])
    steps.release("keeper-pauses")
    first = launches(keeping)[0]
    wait_until(lambda: not first.read().is_attended, what="the first keeper gives up")
    assert len(launches(keeping)) == 2
    assert (keeping.places.instances / "server" / "current").resolve() == second.files.directory
    stop_launch(keeping.places, "server", QUICK)


def test_what_must_fail_again_is_not_launched_again(keeping: Keeping) -> None:
    words = "print('sglang serve: error: unrecognized arguments: --no-such-flag 3'); raise SystemExit(2)"
    keeping.launch([sys.executable, "-c", words], restart=RestartRecord(limit=5, backoff_s=0))
    wait_for_word(keeping, "not restarted, since it would fail again: its arguments are wrong")
    assert len(launches(keeping)) == 1


def test_a_stopped_server_is_not_launched_again(keeping: Keeping) -> None:
    words = [sys.executable, "-c", "import time; time.sleep(600)"]
    kept = keeping.launch(words, restart=RestartRecord(limit=5, backoff_s=0))
    kept.wait_for("starting")
    stop_launch(keeping.places, "server", QUICK)
    wait_until(lambda: not kept.read().is_attended)
    assert len(launches(keeping)) == 1


def test_an_adopted_server_is_launched_again_with_its_own_environment(keeping: Keeping, tmp_path: Path) -> None:
    """It fails once its file is there: the second time at once."""
    script = tmp_path / "fail.py"
    script.write_text(
        "import os, pathlib, time\n"
        "print(os.environ['SGLTUI_LAUNCH_MARK'], flush=True)\n"
        f"while not pathlib.Path({str(tmp_path / 'fail')!r}).exists(): time.sleep(0.05)\n"
        "print('[2026-01-01 00:00:00] Scheduler hit an exception: Traceback', flush=True)\n"
        "os._exit(1)\n"
    )
    kept = keeping.launch([sys.executable, str(script)], restart=RestartRecord(limit=1, backoff_s=0))
    wait_until(lambda: kept.files.log.exists() and kept.files.log.read_text(), what=kept.trouble())
    os.kill(kept.keeper_pid, signal.SIGKILL)
    wait_until(lambda: not kept.read().is_attended)
    adopt_launch(keeping.places, "server")
    (tmp_path / "fail").touch()
    last = wait_for_word(keeping, "not restarted any more after 1 restarts")
    assert last.files.log.read_text().splitlines()[0] == last.read().launch.mark
    assert last.exit()["returncode"] == 1, "its own child again"


@pytest.mark.parametrize(
    ("recording", "why"),
    [
        ("0.5.11/badflag", "its arguments are wrong"),
        ("0.5.23/badvalue", "its arguments are wrong"),
        ("0.5.11/notenough", "its memory budget doesn't work out"),
        ("0.5.23/notenough", "its memory budget doesn't work out"),
        ("0.5.11/nomodel", "its model isn't there"),
        ("0.5.11/nogpu", "there is no GPU that it can use"),
        ("0.5.11/clean", None),
        ("0.5.11/killsched", None),
        ("0.5.11/mamba-q3next", None),
    ],
)
def test_what_recurs_by_the_logs_of_real_servers(recording: str, why: str | None) -> None:
    assert recurring(FIXTURES / "real" / f"{recording}.log") == why


def test_pauses_double_up_to_five_minutes(tmp_path: Path) -> None:
    policy = {"limit": 100, "backoff_s": 5.0}
    ended = {"state": "failed"}
    pauses = [
        decide({"restart": policy, "attempt": attempt}, ended, tmp_path / "none").pause_s for attempt in (1, 2, 3, 50)
    ]
    assert pauses == [5, 10, 20, 300]


def test_the_policy_in_a_preset(tmp_path: Path) -> None:
    path = tmp_path / "one.toml"
    path.write_text('model = "m"\n[launch]\nrestart = "on-failure"\nrestart_limit = 2\ngroup = "g"\norder = -1\n')
    launch = load_preset(path).launch
    assert (launch.restart, launch.restart_limit, launch.restart_backoff_s) == ("on-failure", 2, 5.0)
    assert (launch.group, launch.order) == ("g", -1)


def test_a_record_from_before_there_were_restarts_is_read(keeping: Keeping) -> None:
    kept = keeping.launch(FAIL)
    kept.wait_for("failed")
    document = json.loads(kept.files.launch.read_text())
    for name in ("restart", "attempt", "group", "order"):
        del document[name]
    kept.files.launch.write_text(json.dumps(document))
    assert read_launch(kept.files.directory).launch.attempt == 1
