"""A new keeper for a server whose keeper died: what it takes over, what it settles, and what it leaves alone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.keeping import Keeping, Kept, is_running
from tests.support.steps import Steps
from tests.support.waiting import wait_until
from tui.errors import RefusedError, SgltuiError
from tui.keeper.requests import post
from tui.keeper.steps import END_STEPS, START_STEPS, STOP_STEPS
from tui.keeper.stop import StopRequest
from tui.launch.adopt import Adoption, adopt_launch, needs_keeper
from tui.launch.stop import stop_launch

QUICK = StopRequest(grace_s=0.2, release_wait_s=0)
OFTEN = {"keeper-recorded", "keeper-loading", "keeper-drains", "keeper-ended"}  # the others in `make soak`


def keeper_steps(steps: tuple[str, ...]) -> list[object]:
    names = [step for step in steps if step.startswith("keeper-")]
    return [step if step in OFTEN else pytest.param(step, marks=pytest.mark.soak) for step in names]


RUNNING = ("keeper-started", "keeper-loading", "keeper-ready")
FORK_AND_END = "import os, sys, time\nif os.fork(): sys.exit(7)\ntime.sleep(600)"


def kill_keeper(kept: Kept) -> None:
    os.kill(kept.keeper_pid, signal.SIGKILL)
    wait_until(lambda: not kept.read().is_attended)


def launch_answering(keeping: Keeping, port: int) -> Kept:
    return keeping.launch_program("answer.py", str(port), port=port)


def assert_nothing_left(kept: Kept) -> None:
    wait_until(lambda: not kept.read().is_attended, what=f"its keeper has nothing left to do; {kept.trouble()}")
    assert kept.read().living_members() == ()
    assert kept.exit()["stop"]["survivors"] == []


@pytest.mark.parametrize("step", keeper_steps(START_STEPS))
def test_a_keeper_killed_during_the_start(keeping: Keeping, steps: Steps, unused_tcp_port: int, step: str) -> None:
    steps.hold(step)
    kept = launch_answering(keeping, unused_tcp_port)
    keeper = steps.reached(step, kept.trouble())
    os.kill(keeper, signal.SIGKILL)
    wait_until(lambda: not is_running(keeper))
    steps.release(step)
    adopted = adopt_launch(keeping.places, "server")
    if step in RUNNING:
        assert adopted is Adoption.ADOPTED
        kept.wait_for("ready")
        assert kept.keeper_pid != keeper
        pid = kept.pid
        assert stop_launch(keeping.places, "server", QUICK).stopped == (pid,)
        assert (kept.exit()["state"], kept.exit()["returncode"]) == ("stopped", None)
    else:
        kept.wait_for("lost")
    assert_nothing_left(kept)


@pytest.mark.parametrize("step", keeper_steps(STOP_STEPS))
def test_a_keeper_killed_during_a_stop_that_nobody_waits_for(
    keeping: Keeping, steps: Steps, unused_tcp_port: int, step: str
) -> None:
    kept = launch_answering(keeping, unused_tcp_port)
    kept.wait_for("ready")
    pid = kept.pid
    steps.hold(step)
    post(kept.files.requests, QUICK)
    keeper = steps.reached(step, kept.trouble())
    os.kill(keeper, signal.SIGKILL)
    wait_until(lambda: not is_running(keeper))
    steps.release(step)
    if step == "keeper-ended":  # all is on record
        with pytest.raises(RefusedError, match="it is stopped"):
            adopt_launch(keeping.places, "server")
    else:
        adopt_launch(keeping.places, "server")
    if step == "keeper-asked":  # the request went with the keeper, before anything was done about it
        assert is_running(pid)
        stop_launch(keeping.places, "server", QUICK)
    kept.wait_for("stopped")
    assert kept.exit()["was_ready"] is True
    assert_nothing_left(kept)
    assert not is_running(pid)


@pytest.mark.parametrize("step", END_STEPS)
def test_a_keeper_killed_when_its_server_has_just_ended(keeping: Keeping, steps: Steps, step: str) -> None:
    steps.hold(step)
    kept = keeping.launch([sys.executable, "-c", FORK_AND_END])
    os.kill(steps.reached(step, kept.trouble()), signal.SIGKILL)
    wait_until(lambda: not kept.read().is_attended)
    steps.release(step)
    assert adopt_launch(keeping.places, "server") is Adoption.SETTLED
    kept.wait_for("lost" if step == "keeper-sees-end" else "failed")
    wait_until(lambda: kept.exit().get("stop"), what="the orphan's end")
    assert_nothing_left(kept)
    with pytest.raises(RefusedError, match="isn't running"):
        adopt_launch(keeping.places, "server")


def test_a_new_keeper_notices_the_end_of_a_server_that_is_not_its_child(keeping: Keeping, unused_tcp_port: int) -> None:
    kept = launch_answering(keeping, unused_tcp_port)
    kept.wait_for("ready")
    kill_keeper(kept)
    assert needs_keeper(kept.read())
    assert adopt_launch(keeping.places, "server") is Adoption.ADOPTED
    assert kept.read().is_attended
    assert not needs_keeper(kept.read())
    os.kill(kept.pid, signal.SIGKILL)
    end = kept.exit()
    assert (end["asked"], end["returncode"], end["signal"]) == (False, None, None), "it isn't the one who reaps it"
    assert_nothing_left(kept)


def test_of_many_who_adopt_at_once_one_wins(keeping: Keeping, unused_tcp_port: int) -> None:
    kept = launch_answering(keeping, unused_tcp_port)
    kept.wait_for("ready")
    kill_keeper(kept)
    with ThreadPoolExecutor(max_workers=4) as pool:
        outcomes = list(pool.map(lambda _: adopt_launch(keeping.places, "server"), range(4)))
    assert sorted(outcomes) == [Adoption.ADOPTED, *[Adoption.ATTENDED] * 3]
    stop_launch(keeping.places, "server", QUICK)
    assert_nothing_left(kept)


def test_a_suspended_keeper_is_not_replaced_and_is_named(keeping: Keeping, unused_tcp_port: int) -> None:
    kept = launch_answering(keeping, unused_tcp_port)
    kept.wait_for("ready")
    identity = kept.read().state.keeper
    assert identity is not None
    keeper = identity.pid
    os.kill(keeper, signal.SIGSTOP)
    wait_until(identity.is_suspended)
    with pytest.raises(RefusedError, match=f"suspended.*kill -CONT {keeper}"):
        adopt_launch(keeping.places, "server")
    with pytest.raises(SgltuiError, match=f"pid {keeper}.*is suspended"):
        stop_launch(keeping.places, "server", QUICK)
    assert list(kept.files.requests.iterdir()) == [], "what wasn't taken isn't left to surprise somebody later"
    assert is_running(kept.pid)
    os.kill(keeper, signal.SIGCONT)
    assert adopt_launch(keeping.places, "server") is Adoption.ATTENDED
    assert kept.keeper_pid == keeper
    stop_launch(keeping.places, "server", QUICK)


def test_who_waits_for_a_stop_goes_on_with_the_keeper_that_took_over(
    keeping: Keeping, steps: Steps, unused_tcp_port: int
) -> None:
    """The asker's request went with the keeper; an adopter has the lock before the asker can act itself."""
    kept = launch_answering(keeping, unused_tcp_port)
    kept.wait_for("ready")
    pid = kept.pid
    steps.hold("keeper-asked")
    asker = threading.Thread(target=stop_launch, args=(keeping.places, "server", QUICK))
    asker.start()
    os.kill(steps.reached("keeper-asked", kept.trouble()), signal.SIGKILL)
    steps.release("keeper-asked")
    asker.join(timeout=60)
    assert not asker.is_alive()
    assert kept.state == "stopped"
    assert not is_running(pid)


def test_a_reboot_makes_it_a_clear_past(keeping: Keeping, unused_tcp_port: int) -> None:
    kept = launch_answering(keeping, unused_tcp_port)
    kept.wait_for("ready")
    server = kept.read().state.server
    assert server is not None
    kill_keeper(kept)
    for path in (kept.files.launch, kept.files.state):  # as if all of it had been written before the machine restarted
        path.write_text(path.read_text().replace(server.boot_id, "the boot before"))
    assert adopt_launch(keeping.places, "server") is Adoption.SETTLED
    assert kept.exit()["state"] == "lost"
    wait_until(lambda: not kept.read().is_attended)
    assert not is_running(server.pid), "it has our mark in its environment: it is one of ours after all"


@pytest.mark.parametrize(
    "other", [{"hostname": "gpu-box-9"}, {"pid_namespace": "pid:[1]"}, {"time_namespace": "time:[1]"}]
)
def test_another_machines_server_is_left_alone(keeping: Keeping, unused_tcp_port: int, other: dict[str, str]) -> None:
    kept = launch_answering(keeping, unused_tcp_port)
    kept.wait_for("ready")
    kill_keeper(kept)
    document = json.loads(kept.files.launch.read_text())
    kept.files.launch.write_text(json.dumps({**document, "machine": {**document["machine"], **other}}))
    assert not needs_keeper(kept.read())
    with pytest.raises(RefusedError, match="not here"):
        adopt_launch(keeping.places, "server")
    kept.files.launch.write_text(json.dumps(document))
    stop_launch(keeping.places, "server", QUICK)


def test_who_sees_other_start_times_leaves_a_server_alone(keeping: Keeping, unused_tcp_port: int) -> None:
    """In a time namespace of its own a process sees our server start at another tick: not the one on record."""
    unshare = ["unshare", "--time", "--boottime", "100000", "--fork", "--"]
    if subprocess.run([*unshare, "true"], check=False, capture_output=True).returncode != 0:
        pytest.skip("a time namespace can't be made here")
    kept = launch_answering(keeping, unused_tcp_port)
    kept.wait_for("ready")
    kill_keeper(kept)
    places = keeping.places
    adopt = f"adopt_launch(Places(Path({str(places.state)!r}), Path({str(places.config)!r})), 'server')"
    words = (
        f"from pathlib import Path; from tui.paths import Places; from tui.launch.adopt import adopt_launch; {adopt}"
    )
    done = subprocess.run([*unshare, sys.executable, "-c", words], check=False, capture_output=True, text=True)
    assert "RefusedError" in done.stderr
    assert is_running(kept.pid)
    assert adopt_launch(places, "server") is Adoption.ADOPTED
    stop_launch(places, "server", QUICK)
    assert_nothing_left(kept)


def test_a_secret_key_is_read_from_the_server_and_still_kept_out_of_the_records(
    keeping: Keeping, unused_tcp_port: int
) -> None:
    """A server that asks for its key becomes ready under a keeper that was never told it."""
    port = unused_tcp_port
    kept = keeping.launch_program("answer.py", str(port), "--api-key", "open-sesame", port=port)
    kept.wait_for("ready")
    kill_keeper(kept)
    state = json.loads(kept.files.state.read_text())
    kept.files.state.write_text(json.dumps({**state, "state": "loading"}))
    assert adopt_launch(keeping.places, "server") is Adoption.ADOPTED
    kept.wait_for("ready")
    assert all(b"sesame" not in path.read_bytes() for path in kept.files.directory.rglob("*") if path.is_file())
    stop_launch(keeping.places, "server", QUICK)
