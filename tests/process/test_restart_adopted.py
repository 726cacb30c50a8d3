"""A keeper that dies before it has restarted what it promised to: the next one does, once, unless a stop was asked."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest

from tests.process.test_restart import FAIL, QUICK, launches, wait_for_word
from tests.support.keeping import Keeping, Kept, is_running
from tests.support.steps import Steps
from tests.support.waiting import wait_until
from tui.errors import RefusedError, SgltuiError
from tui.keeper.requests import post
from tui.launch.adopt import Adoption, adopt_launch, needs_keeper
from tui.launch.records import ReferenceRecord, RestartRecord
from tui.launch.stop import stop_launch

ONCE = RestartRecord(limit=1, backoff_s=0.5)
SHOW_KEY = [sys.executable, "-c", "import os; print(os.environ.get('API_KEY'), flush=True); os._exit(1)"]


def launch_and_kill_keeper(keeping: Keeping, steps: Steps, step: str, argv: list[str] = FAIL, **fields: Any) -> Kept:
    """A launch that has failed, and whose keeper died at the step on the way to its restart."""
    steps.hold(step)
    kept = keeping.launch(argv, restart=ONCE, **fields)
    os.kill(steps.reached(step, kept.trouble()), signal.SIGKILL)
    wait_until(lambda: not kept.read().is_attended)
    steps.release(step)
    return kept


def assert_ended_after(keeping: Keeping, attempts: int) -> Kept:
    """The last attempt has failed too, and all is over."""
    last = wait_for_word(keeping, "not restarted any more after 1 restarts")
    wait_until(lambda: not last.read().is_attended)
    assert [launch.read().launch.attempt for launch in launches(keeping)] == list(range(1, attempts + 1))
    return last


def test_a_promised_restart_is_kept_by_the_next_keeper_at_its_time(keeping: Keeping, steps: Steps) -> None:
    kept = launch_and_kill_keeper(keeping, steps, "keeper-pauses")
    end = kept.read().exit
    assert end is not None
    assert end.restart == "restart 1 of 1 in 0.5 s"
    assert end.restart_at is not None
    assert kept.read().awaits_restart
    assert needs_keeper(kept.read())
    assert adopt_launch(keeping.places, "server") is Adoption.RESTARTED
    last = assert_ended_after(keeping, 2)
    assert last.read().launch.created_at >= end.restart_at
    assert last.files.log.read_text().strip() == last.read().launch.mark
    assert last.exit()["returncode"] == 1
    with pytest.raises(RefusedError, match="isn't running"):
        adopt_launch(keeping.places, "server")


def test_of_many_who_adopt_a_restart_at_once_one_launches_it(keeping: Keeping, steps: Steps) -> None:
    launch_and_kill_keeper(keeping, steps, "keeper-pauses")

    def adopt(_: int) -> None:
        with suppress(SgltuiError):  # too late: it is over
            adopt_launch(keeping.places, "server")

    with ThreadPoolExecutor(max_workers=4) as pool:
        list(pool.map(adopt, range(4)))
    assert_ended_after(keeping, 2)


def test_a_restart_whose_keeper_died_before_it_started_anything_is_started(keeping: Keeping, steps: Steps) -> None:
    launch_and_kill_keeper(keeping, steps, "keeper-restarts")
    second = launches(keeping)[-1]
    assert second.read().launch.attempt == 2
    assert needs_keeper(second.read())
    assert adopt_launch(keeping.places, "server") is Adoption.RESTARTED
    assert assert_ended_after(keeping, 2).exit()["returncode"] == 1


def test_a_stop_calls_off_a_restart_that_has_no_keeper(keeping: Keeping, steps: Steps) -> None:
    kept = launch_and_kill_keeper(keeping, steps, "keeper-pauses")
    stop_launch(keeping.places, "server", QUICK)
    assert (kept.exit()["restart"], kept.exit()["restart_at"]) == ("not restarted: it was stopped", None)
    with pytest.raises(RefusedError, match="isn't running"):
        adopt_launch(keeping.places, "server")
    assert len(launches(keeping)) == 1


def test_a_stop_that_nobody_took_calls_off_the_restart(keeping: Keeping, steps: Steps) -> None:
    """Who asked was killed, too."""
    kept = launch_and_kill_keeper(keeping, steps, "keeper-pauses")
    post(kept.files.requests, QUICK)
    adopt_launch(keeping.places, "server")
    wait_for_word(keeping, "not restarted: it was stopped")
    wait_until(lambda: not kept.read().is_attended)
    assert len(launches(keeping)) == 1


def test_a_stop_while_it_is_cleaned_up_calls_off_the_restart(keeping: Keeping, steps: Steps) -> None:
    """The request is taken before any restart is promised."""
    steps.hold("keeper-cleans-up")
    kept = keeping.launch(FAIL, restart=ONCE)
    steps.reached("keeper-cleans-up", kept.trouble())
    asker = threading.Thread(target=stop_launch, args=(keeping.places, "server", QUICK))
    asker.start()
    wait_until(lambda: list(kept.files.requests.iterdir()))
    steps.release("keeper-cleans-up")
    asker.join(timeout=60)
    assert not asker.is_alive()
    wait_until(lambda: not kept.read().is_attended)
    assert kept.exit()["restart"] == "not restarted: it was stopped"
    assert len(launches(keeping)) == 1


def test_a_stop_that_comes_as_it_fails_calls_off_the_restart(keeping: Keeping, steps: Steps) -> None:
    """The request is taken, and then the server is found to have ended by itself."""
    steps.hold("keeper-asked")
    kept = keeping.launch([sys.executable, "-c", "import time; time.sleep(600)"], restart=ONCE)
    kept.wait_for("starting")
    asker = threading.Thread(target=stop_launch, args=(keeping.places, "server", QUICK))
    asker.start()
    steps.reached("keeper-asked", kept.trouble())
    os.kill(kept.pid, signal.SIGKILL)
    wait_until(lambda: not is_running(kept.pid))
    steps.release("keeper-asked")
    asker.join(timeout=60)
    assert not asker.is_alive()
    wait_until(lambda: not kept.read().is_attended)
    assert (kept.exit()["state"], kept.exit()["signal"], kept.exit()["asked"]) == ("failed", "SIGKILL", True)
    assert len(launches(keeping)) == 1


@pytest.mark.parametrize(("change", "word"), [("late", "nobody attended it"), ("boot", None)])
def test_a_restart_of_long_ago_is_not_made_up_for(
    keeping: Keeping, steps: Steps, change: str, word: str | None
) -> None:
    kept = launch_and_kill_keeper(keeping, steps, "keeper-pauses")
    recorded = kept.read()
    assert recorded.exit is not None
    assert recorded.exit.restart_at is not None
    if change == "late":
        earlier = (recorded.exit.restart_at - timedelta(hours=2)).isoformat()
        kept.files.exit.write_text(json.dumps({**kept.exit(), "restart_at": earlier}))
        adopt_launch(keeping.places, "server")
        assert word is not None
        wait_for_word(keeping, word)
    else:
        launch = kept.files.launch.read_text()
        kept.files.launch.write_text(launch.replace(recorded.launch.machine.boot_id, "the boot before"))
        assert not needs_keeper(kept.read())
    wait_until(lambda: not kept.read().is_attended)
    assert len(launches(keeping)) == 1


def test_a_secret_is_read_again_from_where_it_comes(keeping: Keeping, steps: Steps) -> None:
    """Nobody has it any more: the keeper is dead, the server too, and it is on no record."""
    key = keeping.places.state.parent / "key"
    fields = {"env": {"API_KEY": "***"}, "env_references": {"API_KEY": ReferenceRecord("file", str(key))}}
    kept = launch_and_kill_keeper(keeping, steps, "keeper-pauses", SHOW_KEY, **fields)
    key.write_text("open-sesame\n")
    adopt_launch(keeping.places, "server")
    last = assert_ended_after(keeping, 2)
    assert last.files.log.read_text() == "open-sesame\n"
    for launch in (kept, last):
        records = (path for path in launch.files.directory.iterdir() if path.is_file() and path != launch.files.log)
        assert all("sesame" not in path.read_text() for path in records)


@pytest.mark.parametrize("is_known", [False, True])
def test_a_secret_that_nobody_has_any_more_is_named(keeping: Keeping, steps: Steps, is_known: bool) -> None:
    """Typed by hand, or from a file that is gone."""
    gone = {"API_KEY": ReferenceRecord("file", str(keeping.places.state / "none"))}
    fields = {"env": {"API_KEY": "***"}, "env_references": gone if is_known else {}}
    kept = launch_and_kill_keeper(keeping, steps, "keeper-pauses", SHOW_KEY, **fields)
    with pytest.raises(RefusedError, match=r"isn't launched again: .*API_KEY"):
        adopt_launch(keeping.places, "server")
    assert "API_KEY" in wait_for_word(keeping, "not restarted: ").exit()["restart"]
    wait_until(lambda: not kept.read().is_attended)
    assert len(launches(keeping)) == 1
