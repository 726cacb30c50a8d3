"""What an end was, by the logs that real servers left, and by what else is known."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.recordings import REAL
from tui.keeper import locks, oom
from tui.keeper.evidence import CrashedChild, DrainWatch, Evidence, read_evidence
from tui.keeper.states import State
from tui.keeper.verdict import Facts, judge

NOTHING = Evidence()
CRASH = Evidence(failed=True, quit=True, crashed=CrashedChild("scheduler_0", 25042, -9))
FAULT = Evidence(failed=True, quit=True, crashed=CrashedChild("scheduler_0", 25042, -11))
QUIT = Evidence(failed=True, quit=True)


@pytest.mark.parametrize(
    ("recording", "evidence"),
    [
        ("0.5.11/term", Evidence(drained=True)),
        ("0.5.23/term", Evidence(drained=True)),
        # TERM to the whole group: the scheduler's death is of the same asking, and comes after it in the log.
        ("0.5.11/termgrp", Evidence(drained=True)),
        ("0.5.11/kill", NOTHING),
        ("0.5.11/clean", NOTHING),
        ("0.5.11/killsched", CRASH),
        ("0.5.11/killdetok", Evidence(failed=True, quit=True, crashed=CrashedChild("detokenizer", 25218, -9))),
        ("0.5.11/notenough", Evidence(failed=True, quit=True)),
        ("0.5.11/mamba-q3next", Evidence(failed=True, quit=True)),
        ("0.5.23/notenough", Evidence(failed=True, quit=True)),
    ],
)
def test_the_evidence_in_real_logs(recording: str, evidence: Evidence) -> None:
    log = REAL / f"{recording}.log"
    if not log.exists():
        pytest.fail(f"no recording {log}")
    assert read_evidence(log) == evidence


def test_no_log_is_no_evidence(tmp_path: Path) -> None:
    assert read_evidence(tmp_path / "gone") == NOTHING


@pytest.mark.parametrize(
    ("facts", "state", "killed_by", "words"),
    [
        (Facts(False, -9, CRASH), State.FAILED, "itself", "its scheduler_0 (pid 25042) was ended by SIGKILL"),
        (Facts(True, -9, CRASH), State.FAILED, "itself", "so it ended itself"),
        (Facts(True, -9, CRASH, oom_victim=25042), State.FAILED, "kernel", "the kernel killed pid 25042"),
        (Facts(True, -9, NOTHING, oom_victim=0), State.FAILED, "kernel", "killed a process of it"),
        (Facts(True, -9, CRASH, oom_victim=0), State.FAILED, "kernel", "killed a process of it"),
        # The counter of a container counts strangers, too: the log knows better.
        (
            Facts(True, -9, FAULT, oom_victim=0),
            State.FAILED,
            "itself",
            "its scheduler_0 (pid 25042) was ended by SIGSEGV",
        ),
        (Facts(True, -9, QUIT, oom_victim=0), State.FAILED, "itself", "a child process failed"),
        (Facts(True, -9, NOTHING), State.EXITED, "somebody", "somebody sent SIGKILL"),
        (Facts(True, -15, NOTHING), State.EXITED, "somebody", "somebody sent SIGTERM"),
        (Facts(True, -9, Evidence(drained=True)), State.EXITED, "somebody", "somebody asked it to end"),
        (Facts(True, 0, Evidence(drained=True)), State.EXITED, "somebody", "somebody asked it to end"),
        (Facts(True, 0, NOTHING), State.EXITED, None, None),
        (Facts(True, 3, NOTHING), State.FAILED, None, None),
        (Facts(True, -11, NOTHING), State.FAILED, None, None),
        (Facts(True, None, NOTHING), State.LOST, None, "nobody saw how"),
        (Facts(True, None, CRASH), State.FAILED, "itself", "its scheduler_0 (pid 25042)"),
        (Facts(True, None, Evidence(drained=True)), State.EXITED, "somebody", "asked it to end"),
        (Facts(False, 0, NOTHING), State.FAILED, None, None),
        (Facts(False, -9, NOTHING), State.FAILED, "somebody", "somebody sent SIGKILL"),
        (Facts(False, -40, NOTHING), State.FAILED, None, None),
    ],
)
def test_the_verdict(facts: Facts, state: State, killed_by: str | None, words: str | None) -> None:
    verdict = judge(facts)
    assert (verdict["state"], verdict["killed_by"]) == (state, killed_by)
    assert verdict["explanation"] is None if words is None else words in verdict["explanation"]


def test_what_is_left_to_drain_is_what_the_log_says_last_since_then(tmp_path: Path) -> None:
    log = tmp_path / "log"
    said = b"[2026-11-29 17:00:05] Gracefully exiting... Remaining number of requests %d. Remaining requests\n"
    log.write_bytes(said % 9)  # of another time
    watch = DrainWatch(log)
    assert watch.remaining() is None
    with log.open("ab") as file:
        file.write(said % 3 + b'"GET /] Gracefully exiting... Remaining')
        file.flush()
        assert watch.remaining() == 3
        file.write(b" number\n" + said % 0)
    assert watch.remaining() == 0
    log.unlink()
    assert watch.remaining() == 0


def test_a_drain_is_followed_over_a_rotation(tmp_path: Path) -> None:
    log = tmp_path / "log"
    said = b"[2026-11-29 17:00:05] Gracefully exiting... Remaining number of requests %d. Remaining requests\n"
    log.write_bytes(b"older lines\n" * 1000)
    watch = DrainWatch(log)
    log.write_bytes(b"an older line\n" + said % 5)  # the others are in a segment
    assert watch.remaining() == 5


@pytest.mark.parametrize(
    ("text", "kills"),
    [
        ("low 0\nhigh 0\nmax 3\noom 1\noom_kill 2\noom_group_kill 0\n", 2),  # memory.events
        ("oom_kill_disable 0\nunder_oom 0\noom_kill 7\n", 7),  # memory.oom_control
        ("oom_kill_disable 0\nunder_oom 0\n", None),  # before Linux 4.13
    ],
)
def test_the_counters_of_both_kinds_of_cgroups(tmp_path: Path, text: str, kills: int | None) -> None:
    path = tmp_path / "counter"
    path.write_text(text)
    counter = oom.read_counter(str(path))
    assert (counter and counter.kills) == kills
    assert oom.read_counter(str(tmp_path / "none")) is None


def test_a_lock_of_a_build_that_a_killed_process_left(tmp_path: Path) -> None:
    folder = tmp_path / ".cache" / "torch_extensions"
    folder.mkdir(parents=True)
    stale, busy, gone = folder / "lock", tmp_path / "jit" / "lock", folder / "a" / "lock"
    busy.parent.mkdir()
    stale.touch()
    log = tmp_path / "log"
    log.write_text(f"waiting for {stale}\nand ({busy}), not for /etc/lock nor {folder}/clock; {gone}\n")
    with busy.open("w"):
        assert locks.named(log) == {str(stale), str(busy), str(gone)}
        assert locks.stale(locks.named(log)) == [str(stale)], "the other is open in a living process"
