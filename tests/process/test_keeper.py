"""The keeper with real processes: what it records, what it ends, what it leaves alone, and what survives it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.keeping import PROGRAMS, Keeping, Kept, is_running
from tests.support.waiting import wait_until
from tui.keeper.identity import ProcessIdentity, identify, send_signal
from tui.keeper.requests import post
from tui.keeper.stop import StopRequest
from tui.launch.stop import stop_launch
from tui.paths import Places

QUICK = StopRequest(grace_s=0.2, release_wait_s=0)


def start_tree(keeping: Keeping, tmp_path: Path) -> tuple[Kept, list[int]]:
    pids_file = tmp_path / "pids"
    kept = keeping.launch_program("tree.py", str(pids_file))
    wait_until(pids_file.exists, what=kept.trouble())
    return kept, list(map(int, pids_file.read_text().split()))


def test_stop_leaves_nobody_of_a_tree_that_hides_and_ignores_term(keeping: Keeping, tmp_path: Path, decoy: int) -> None:
    kept, pids = start_tree(keeping, tmp_path)
    report = stop_launch(keeping.places, "server", QUICK)
    assert [pid for pid in pids if is_running(pid)] == []
    assert set(pids) <= set(report.stopped)
    assert report.survivors == ()
    assert kept.state == "stopped"
    assert is_running(decoy)


def test_a_killed_keeper_takes_nothing_with_it_and_stop_works_without_it(
    keeping: Keeping, tmp_path: Path, decoy: int
) -> None:
    kept, pids = start_tree(keeping, tmp_path)
    wait_until(lambda: len(kept.read().state.members) == 4, what="all members on record")
    os.kill(kept.keeper_pid, signal.SIGKILL)
    wait_until(lambda: not kept.read().is_attended)
    assert all(map(is_running, pids))
    assert kept.state == "starting"
    stop_launch(keeping.places, "server", QUICK)
    assert [pid for pid in pids if is_running(pid)] == []
    assert kept.exit()["returncode"] is None, "nobody was there to see it"
    assert is_running(decoy)


def test_a_keeper_killed_in_the_middle_of_a_stop_is_replaced_by_who_asked(keeping: Keeping, tmp_path: Path) -> None:
    kept, pids = start_tree(keeping, tmp_path)
    patient = StopRequest(grace_s=2, release_wait_s=0)
    asker = threading.Thread(target=stop_launch, args=(keeping.places, "server", patient))
    asker.start()
    kept.wait_for("stopping")
    os.kill(kept.keeper_pid, signal.SIGKILL)
    asker.join(timeout=60)
    assert [pid for pid in pids if is_running(pid)] == []
    assert kept.state == "stopped"


def test_the_keeper_is_deaf_to_what_a_closed_terminal_and_an_orphan_send(keeping: Keeping, tmp_path: Path) -> None:
    kept, pids = start_tree(keeping, tmp_path)
    for signum in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        os.kill(kept.keeper_pid, signum)
    stop_launch(keeping.places, "server", QUICK)
    assert kept.exit()["signal"] == "SIGKILL", "the keeper was there to see it"
    assert [pid for pid in pids if is_running(pid)] == []


def test_two_who_stop_at_once_both_learn_how_it_ended(keeping: Keeping, tmp_path: Path) -> None:
    start_tree(keeping, tmp_path)
    reports = []
    askers = [
        threading.Thread(target=lambda: reports.append(stop_launch(keeping.places, "server", QUICK))) for _ in range(2)
    ]
    for asker in askers:
        asker.start()
    for asker in askers:
        asker.join(timeout=60)
    assert len(reports) == 2
    assert reports[0] == reports[1]


def test_a_kill_hurries_a_patient_stop(keeping: Keeping, tmp_path: Path) -> None:
    kept, pids = start_tree(keeping, tmp_path)
    asker = threading.Thread(
        target=stop_launch, args=(keeping.places, "server", StopRequest(grace_s=3600, release_wait_s=0))
    )
    asker.start()
    kept.wait_for("stopping")
    stop_launch(keeping.places, "server", StopRequest(grace_s=3600, release_wait_s=0, kill=True))
    asker.join(timeout=60)
    assert not asker.is_alive()
    assert [pid for pid in pids if is_running(pid)] == []


def test_what_ends_by_itself_is_recorded_with_its_status_and_its_leftovers_are_ended(keeping: Keeping) -> None:
    orphan = "import os, time, sys\nif os.fork(): print('bye', flush=True); sys.exit(7)\ntime.sleep(600)"
    kept = keeping.launch([sys.executable, "-c", orphan])
    kept.wait_for("failed")
    wait_until(lambda: kept.exit().get("stop"), what="the leftovers' report")
    end = kept.exit()
    assert end["returncode"] == 7
    assert end["asked"] is False
    assert end["stop"]["survivors"] == []
    assert len(end["stop"]["stopped"]) == 1, "the orphan"
    assert not any(is_running(pid) for pid in end["stop"]["stopped"])
    assert kept.files.log.read_bytes() == b"bye\n"


def test_a_program_that_cannot_be_started_fails_with_its_reason(keeping: Keeping) -> None:
    kept = keeping.launch(["/no/such/python", "-m", "sglang.launch_server"])
    kept.wait_for("failed")
    assert kept.exit()["cause"] == "couldn't start /no/such/python: No such file or directory"


def test_each_launch_has_a_log_of_its_own_that_no_earlier_writer_reaches(keeping: Keeping) -> None:
    words = ["-c", "import time; print('first', flush=True); time.sleep(600)"]
    first = keeping.launch([sys.executable, *words])
    wait_until(lambda: first.files.log.exists() and first.files.log.read_bytes() == b"first\n")
    inode = first.files.log.stat().st_ino
    stop_launch(keeping.places, "server", QUICK)
    second = keeping.launch([sys.executable, *words])
    wait_until(lambda: second.files.log.exists() and second.files.log.read_bytes() == b"first\n")
    assert second.files.log.stat().st_ino != inode
    assert first.files.log.read_bytes() == b"first\n"
    assert second.files.log.stat().st_mode & 0o777 == 0o600
    assert second.files.directory.stat().st_mode & 0o777 == 0o700
    current = keeping.places.instances / "server" / "current"
    assert current.resolve() == second.files.directory


def test_ready_needs_our_own_process_on_the_port(keeping: Keeping, unused_tcp_port: int) -> None:
    kept = keeping.launch_program("answer.py", str(unused_tcp_port), port=unused_tcp_port)
    kept.wait_for("ready")
    events = [json.loads(line) for line in kept.files.events.read_text().splitlines()]
    assert [event["new"] for event in events] == ["starting", "loading", "ready"]


def test_a_stranger_who_answers_on_the_port_makes_nobody_ready(keeping: Keeping, unused_tcp_port: int) -> None:
    stranger = subprocess.Popen(
        [sys.executable, str(PROGRAMS / "answer.py"), str(unused_tcp_port)], stdout=subprocess.DEVNULL
    )
    try:
        log = "import time; print('[2026-01-01 00:00:00] Load weight begin.', flush=True)\n"
        rest = "print('The server is fired up and ready to roll!', flush=True); time.sleep(2); print('over')"
        kept = keeping.launch([sys.executable, "-c", log + rest], port=unused_tcp_port)
        kept.wait_for("failed")
    finally:
        stranger.kill()
        stranger.wait()
    events = [json.loads(line) for line in kept.files.events.read_text().splitlines()]
    assert [event["new"] for event in events] == ["starting", "loading", "failed"]


def test_rubbish_among_the_requests_is_taken_away_and_does_no_harm(keeping: Keeping, tmp_path: Path) -> None:
    kept, _ = start_tree(keeping, tmp_path)
    for number, rubbish in enumerate((b"", b"\xff\x00", b"[]", b'{"verb": "dance"}', b'{"verb": "stop"}')):
        (kept.files.requests / f"{number}.json").write_bytes(rubbish)
    wait_until(lambda: not list(kept.files.requests.iterdir()), what="requests taken")
    assert kept.read().is_attended
    assert kept.state == "starting"
    post(kept.files.requests, QUICK)
    kept.wait_for("stopped")


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


def test_servers_get_default_signals_and_the_marks_that_survive_setproctitle(keeping: Keeping) -> None:
    report = (
        "import os, signal;"
        "print([signal.getsignal(s) is signal.SIG_IGN for s in (signal.SIGHUP, signal.SIGQUIT, signal.SIGPIPE)],"
        "os.environ['SPT_NOENV'], os.environ['PYTHONUNBUFFERED'],"
        "os.getsid(0) == os.getpid(), os.readlink('/proc/self/fd/0'))"
    )
    kept = keeping.launch([sys.executable, "-c", report])
    kept.wait_for("failed")
    # SIGPIPE: Python itself ignores it in every process it starts.
    assert kept.files.log.read_text() == "[False, False, True] 1 1 True /dev/null\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to make a small file system")
def test_a_keeper_outlives_a_full_disk_and_records_the_end_when_there_is_space_again(
    tmp_path: Path, unused_tcp_port: int
) -> None:
    state = tmp_path / "state"
    state.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(state)]
    if subprocess.run(mount, check=False, capture_output=True).returncode != 0:
        pytest.skip("mounting isn't allowed here")
    keeping = Keeping(Places(state=state, config=tmp_path / "config"))
    try:
        kept = keeping.launch_program("answer.py", str(unused_tcp_port), port=unused_tcp_port)
        kept.wait_for("ready")
        filler = state / "filler"
        with suppress(OSError), filler.open("wb", buffering=0) as file:
            while True:
                file.write(b"x" * 4096)
        os.kill(kept.pid, signal.SIGTERM)
        wait_until(lambda: not is_running(kept.pid))
        assert kept.read().is_attended
        assert not kept.files.exit.exists()
        filler.unlink()
        kept.wait_for("failed")
        assert kept.exit()["signal"] == "SIGTERM"
        wait_until(lambda: not kept.read().is_attended, what="the keeper has nothing left to do")
    finally:
        keeping.clean_up()
        subprocess.run(["umount", "--lazy", str(state)], check=True)
