"""The keeper with real processes: what it records, what it ends, what it leaves alone, and what survives it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.keeping import PROGRAMS, Keeping, Kept, is_running
from tests.support.nvml import FakeNvml
from tests.support.steps import Steps
from tests.support.waiting import wait_until
from tui.errors import RefusedError
from tui.keeper.identity import identify
from tui.keeper.readiness import answers
from tui.keeper.requests import post
from tui.keeper.spawn import create_log, spawn
from tui.keeper.stop import StopRequest
from tui.launch import guard
from tui.launch.records import GivenGpu, StopRecord
from tui.launch.stop import stop_launch
from tui.paths import Places

QUICK = StopRequest(grace_s=0.2, release_wait_s=0)


def start_tree(keeping: Keeping, tmp_path: Path) -> tuple[Kept, list[int]]:
    pids_file = tmp_path / "pids"
    kept = keeping.launch_program("tree.py", str(pids_file))
    wait_until(pids_file.exists, what=kept.trouble())
    return kept, list(map(int, pids_file.read_text().split()))


def stop_twice(keeping: Keeping) -> list[StopRecord]:
    """The reports of two who ask at the same time."""
    with ThreadPoolExecutor(max_workers=2) as pool:
        return list(pool.map(lambda _: stop_launch(keeping.places, "server", QUICK), range(2)))


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


def test_a_keeper_killed_in_the_middle_of_a_stop_is_replaced_by_who_asked(
    keeping: Keeping, steps: Steps, tmp_path: Path
) -> None:
    kept, pids = start_tree(keeping, tmp_path)
    steps.hold("keeper-drains")
    asker = threading.Thread(target=stop_launch, args=(keeping.places, "server", QUICK))
    asker.start()
    os.kill(steps.reached("keeper-drains", kept.trouble()), signal.SIGKILL)
    steps.release("keeper-drains")
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
    one, other = stop_twice(keeping)
    assert one == other


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
    assert kept.states_until("ready") == ["starting", "loading", "ready"]


def test_a_stranger_who_answers_on_the_port_makes_nobody_ready(keeping: Keeping, unused_tcp_port: int) -> None:
    stranger = subprocess.Popen(
        [sys.executable, str(PROGRAMS / "answer.py"), str(unused_tcp_port)], stdout=subprocess.DEVNULL
    )
    try:
        wait_until(lambda: answers("127.0.0.1", unused_tcp_port, None), what="the stranger answers")
        lines = ("Load weight begin.", "The server is fired up and ready to roll!")
        words = "; ".join(f"print('[2026-01-01 00:00:00] {line}', flush=True)" for line in lines)
        kept = keeping.launch([sys.executable, "-c", f"{words}; import time; time.sleep(600)"], port=unused_tcp_port)
        kept.wait_for("loading")
        for _ in range(2):  # what is taken second, is taken behind a whole look at the server
            (kept.files.requests / "rubbish.json").touch()
            wait_until(lambda: not list(kept.files.requests.iterdir()), what=kept.trouble())
        os.kill(kept.pid, signal.SIGKILL)
        kept.wait_for("failed")
    finally:
        stranger.kill()
        stranger.wait()
    assert kept.states_until("failed") == ["starting", "loading", "failed"]


def test_rubbish_among_the_requests_is_taken_away_and_does_no_harm(keeping: Keeping, tmp_path: Path) -> None:
    kept, _ = start_tree(keeping, tmp_path)
    deep = b"[" * 50_000
    for number, rubbish in enumerate((b"", b"\xff\x00", b"[]", b'{"verb": "dance"}', b'{"verb": "stop"}', deep)):
        (kept.files.requests / f"{number}.json").write_bytes(rubbish)
    (kept.files.requests / "dangling.json").symlink_to("nowhere")
    os.mkfifo(kept.files.requests / "pipe.json")
    folder = kept.files.requests / "folder.json"
    folder.mkdir()
    wait_until(lambda: list(kept.files.requests.iterdir()) == [folder], what="requests taken")
    assert kept.read().is_attended
    assert kept.state == "starting"
    post(kept.files.requests, QUICK)
    kept.wait_for("stopped")


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


def test_a_server_that_is_not_on_record_never_runs(tmp_path: Path) -> None:
    log = create_log(tmp_path / "log")
    spawned = spawn(["/bin/sh", "-c", "touch ran"], {}, str(tmp_path), log)
    assert is_running(spawned.pid)
    spawned.give_up()  # what the kernel does when the keeper is killed
    os.waitpid(spawned.pid, 0)
    os.close(log)
    assert not (tmp_path / "ran").exists()


ORPHAN_AND_EXIT_7 = "import os, sys, time\nif os.fork(): sys.exit(7)\ntime.sleep(600)"


def test_a_keeper_killed_while_it_cleans_up_is_replaced_and_the_end_stays_what_it_was(
    keeping: Keeping, steps: Steps
) -> None:
    steps.hold("keeper-cleans-up")
    kept = keeping.launch([sys.executable, "-c", ORPHAN_AND_EXIT_7])
    os.kill(steps.reached("keeper-cleans-up", kept.trouble()), signal.SIGKILL)
    wait_until(lambda: not kept.read().is_attended)
    steps.release("keeper-cleans-up")
    assert len(kept.read().living_members()) == 1, "the orphan, on record although its keeper is gone"
    report = stop_launch(keeping.places, "server", QUICK)
    assert len(report.stopped) == 1
    assert not is_running(report.stopped[0])
    end = kept.exit()
    assert (end["state"], end["returncode"], end["asked"]) == ("failed", 7, False)
    assert kept.state == "failed"


def test_a_survivor_of_one_stop_can_be_stopped_again_and_blocks_its_name_until_then(
    keeping: Keeping,
) -> None:
    kept = keeping.launch([sys.executable, "-c", "pass"])
    wait_until(lambda: kept.files.exit.exists() and kept.exit().get("stop"))
    wait_until(lambda: not kept.read().is_attended)
    survivor = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    identity = identify(survivor.pid)
    assert identity is not None
    state = json.loads(kept.files.state.read_text())
    kept.files.state.write_text(json.dumps({**state, "members": [identity.as_json()]}))
    with pytest.raises(RefusedError, match="still run"):
        guard.check_name(keeping.places, "server")
    assert stop_launch(keeping.places, "server", QUICK).stopped == (survivor.pid,)
    assert survivor.wait() == -signal.SIGKILL
    guard.check_name(keeping.places, "server")


def test_two_who_stop_an_unattended_server_at_once_both_learn_how_it_ended(keeping: Keeping, tmp_path: Path) -> None:
    kept, pids = start_tree(keeping, tmp_path)
    wait_until(lambda: len(kept.read().state.members) == 4, what="all members on record")
    os.kill(kept.keeper_pid, signal.SIGKILL)
    wait_until(lambda: not kept.read().is_attended)
    one, other = stop_twice(keeping)
    assert set(one.stopped) == set(other.stopped) == set(pids)


def test_a_process_whose_leader_thread_has_ended_is_alive_and_is_stopped(keeping: Keeping) -> None:
    kept = keeping.launch_program("leaderless.py")
    wait_until(lambda: kept.files.log.exists() and kept.files.log.read_bytes() == b"leaderless\n", what=kept.trouble())
    assert kept.state == "starting"
    pid = kept.pid
    report = stop_launch(keeping.places, "server", StopRequest(release_wait_s=0, kill=True))
    assert (report.stopped, report.killed) == ((pid,), (pid,))
    assert not Path(f"/proc/{pid}").exists()
    assert kept.exit()["signal"] == "SIGKILL"


def test_shared_memory_is_told_by_the_name_it_has_now(keeping: Keeping) -> None:
    # As sem_open does it (glibc): made under one name, linked to another, the first removed.
    made, linked = f"/dev/shm/sgltui-test-{os.getpid()}-made", f"/dev/shm/sgltui-test-{os.getpid()}-linked"
    words = (
        "import mmap, os, time\n"
        f"fd = os.open({made!r}, os.O_RDWR | os.O_CREAT, 0o600); os.ftruncate(fd, 4096); m = mmap.mmap(fd, 4096)\n"
        f"os.link({made!r}, {linked!r}); os.unlink({made!r}); print('linked', flush=True); time.sleep(600)"
    )
    kept = keeping.launch([sys.executable, "-c", words])
    try:
        wait_until(lambda: kept.files.log.exists() and kept.files.log.read_bytes() == b"linked\n")
        assert stop_launch(keeping.places, "server", QUICK).shm_left == (linked,)
    finally:
        Path(linked).unlink()


def test_an_end_by_a_real_time_signal_is_recorded(keeping: Keeping) -> None:
    kept = keeping.launch([sys.executable, "-c", "import os; os.kill(os.getpid(), 40)"])
    kept.wait_for("failed")
    assert (kept.exit()["returncode"], kept.exit()["signal"]) == (-40, "signal 40")


def test_a_driver_that_hangs_keeps_no_server_alive(
    keeping: Keeping, fake_nvml: FakeNvml, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in fake_nvml.environment.items():
        monkeypatch.setenv(name, value)
    fake_nvml.tell("gpus 1")
    kept = keeping.launch(
        [sys.executable, "-c", "import time; time.sleep(600)"], gpus=[GivenGpu(0, "GPU-unknown", "fake")]
    )
    kept.wait_for("starting")
    fake_nvml.tell("gpus 1", "delay 60000000")
    report = stop_launch(keeping.places, "server", StopRequest(release_wait_s=0, kill=True))
    assert not is_running(report.stopped[0])
    assert report.released is None, "nobody can tell"


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
        kept.wait_for("exited")
        assert kept.exit()["signal"] == "SIGTERM"
        wait_until(lambda: not kept.read().is_attended, what="the keeper has nothing left to do")
    finally:
        keeping.clean_up()
        subprocess.run(["umount", "--lazy", str(state)], check=True)
