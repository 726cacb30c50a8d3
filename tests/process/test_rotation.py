"""Rotation under a living writer, with the rotator killed at every point: not one byte is lost or repeated."""

from __future__ import annotations

import random
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.rotating import (
    LIMIT_BYTES,
    NO_END,
    everything,
    finished,
    numbered,
    rotator,
    segments,
    start_writer,
)
from tests.support.steps import Steps
from tests.support.waiting import wait_until
from tui.keeper import holes
from tui.keeper.log_journal import read_journal
from tui.keeper.rotation import ROTATION_STEPS, Rotator

RAM = Path("/dev/shm")
LINES = 30_000  # 3 MB


@pytest.fixture(params=["disk", "ram"])
def directory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A launch's folder: where tests keep their files, and in a tmpfs, which can't collapse."""
    if request.param == "disk":
        yield tmp_path
        return
    if not RAM.is_dir():
        pytest.skip(f"no {RAM} here")
    made = Path(tempfile.mkdtemp(prefix="sgltui-test-", dir=RAM))
    yield made
    shutil.rmtree(made)


def test_all_bytes_are_there_and_the_newest_in_the_log(directory: Path) -> None:
    log = directory / "server.log"
    log.write_bytes(numbered(0, LINES))
    inode = log.stat().st_ino
    Rotator(log, NO_END).rotate()
    assert everything(directory) == numbered(0, LINES)
    assert len(log.read_bytes().lstrip(b"\0")) <= LIMIT_BYTES
    assert log.stat().st_blocks * 512 <= LIMIT_BYTES
    assert log.stat().st_ino == inode
    assert sum(path.stat().st_size for path in segments(directory)) < len(numbered(0, LINES)) / 4


def test_zcat_reads_a_segment(directory: Path) -> None:
    (directory / "server.log").write_bytes(numbered(0, LINES))
    Rotator(directory / "server.log", NO_END).rotate()
    told = subprocess.run(["zcat", str(segments(directory)[0])], capture_output=True, check=True).stdout
    assert numbered(0, LINES).startswith(told)
    assert len(told) > LIMIT_BYTES


def test_a_log_within_its_limit_is_left_alone(directory: Path) -> None:
    log = directory / "server.log"
    log.write_bytes(b"x" * LIMIT_BYTES)
    Rotator(log, NO_END).rotate()
    assert list(directory.iterdir()) == [log]


@pytest.mark.parametrize("point", [point for point in ROTATION_STEPS if point != "rotation-prunes"])
def test_killed_at_a_step_and_started_again(directory: Path, steps: Steps, point: str) -> None:
    log = directory / "server.log"
    log.write_bytes(numbered(0, LINES))
    can_collapse = holes.ability(directory) == holes.COLLAPSE
    if point.startswith("rotation-collapse") and not can_collapse:
        pytest.skip("this file system can't collapse")
    steps.hold(point)
    with rotator(directory, steps.folder) as first:
        assert steps.reached(point) == first.pid
        first.kill()
    with log.open("ab") as writer:
        writer.write(numbered(LINES, 2 * LINES))
    steps.release(point)
    Rotator(log, NO_END).rotate()
    assert everything(directory) == numbered(0, 2 * LINES)
    assert log.stat().st_blocks * 512 <= LIMIT_BYTES
    assert not list(directory.glob(".*"))


@pytest.mark.parametrize("seed", range(3))
def test_a_flood_with_the_rotator_killed_anywhere(directory: Path, seed: int) -> None:
    flood_with_kills(directory, seed, seconds=1.0)


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", range(100, 140))
def test_many_floods_with_the_rotator_killed_anywhere(directory: Path, seed: int) -> None:
    flood_with_kills(directory, seed, seconds=4.0)


def flood_with_kills(directory: Path, seed: int, seconds: float) -> None:
    """100,000 lines a second; rotators live for up to a quarter of a second, and the last one finishes the work."""
    chance = random.Random(seed)  # noqa: S311 - the same moments again with the same seed
    with start_writer(directory, 100_000, seconds) as writer:
        wait_until((directory / "server.log").exists, what="the writer has begun")
        while writer.poll() is None:
            with rotator(directory) as process:
                time.sleep(chance.uniform(0.03, 0.25))
                process.kill()
        lines = finished(writer)
    Rotator(directory / "server.log", NO_END).rotate()
    assert segments(directory)
    assert everything(directory) == numbered(0, lines)


def test_two_rotators_dont_disturb_each_other(directory: Path) -> None:
    with start_writer(directory, 50_000, 1.0) as writer, rotator(directory), rotator(directory):
        lines = finished(writer)
    Rotator(directory / "server.log", NO_END).rotate()
    assert everything(directory) == numbered(0, lines)


def test_the_oldest_segments_go_when_there_are_too_many(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    limits = replace(NO_END, total_bytes=LIMIT_BYTES)
    keeper, number = Rotator(log, limits), 0
    while not keeper._news or keeper._news[-1]["event"] != "log-deleted":
        with log.open("ab") as writer:
            writer.write(numbered(number, number + LINES))
        number += LINES
        keeper.rotate()
    kept = everything(tmp_path)
    assert numbered(0, number).endswith(kept)
    assert len(kept) < len(numbered(0, number))
    assert keeper._news[-1]["files"][0] == "server.log.0001.gz"
    assert not (tmp_path / "server.log.0001.gz").exists()
    assert sum(path.stat().st_blocks * 512 for path in [log, *segments(tmp_path)]) < LIMIT_BYTES + 65536


def test_old_segments_go(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_bytes(numbered(0, LINES))
    Rotator(log, NO_END).rotate()
    Rotator(log, replace(NO_END, age_s=3600)).rotate()
    assert segments(tmp_path)
    Rotator(log, replace(NO_END, age_s=0)).rotate()
    assert not segments(tmp_path)
    assert numbered(0, LINES).endswith(everything(tmp_path))


def test_a_segment_that_a_killed_one_was_about_to_delete_goes(tmp_path: Path, steps: Steps) -> None:
    log = tmp_path / "server.log"
    log.write_bytes(numbered(0, LINES))
    Rotator(log, NO_END).rotate()
    (doomed,) = segments(tmp_path)
    kept = log.read_bytes()
    steps.hold("rotation-prunes")
    with rotator(tmp_path, steps.folder, total_bytes=1) as first:
        assert steps.reached("rotation-prunes") == first.pid
        first.kill()
    assert doomed.exists()
    assert read_journal(log).segments == []
    steps.release("rotation-prunes")
    Rotator(log, NO_END).rotate()
    assert not segments(tmp_path)
    assert everything(tmp_path) == kept


def test_where_no_hole_can_be_punched_the_log_is_kept_whole_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: int, __: int) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(holes, "punch", refuse)
    log = tmp_path / "server.log"
    log.write_bytes(numbered(0, LINES))
    keeper = Rotator(log, NO_END)
    keeper.rotate()
    (news,) = keeper.look()
    assert news["event"] == "log-kept-whole"
    assert log.read_bytes() == numbered(0, LINES)
    assert not segments(tmp_path)


def test_the_keeper_goes_on_while_a_thread_rotates(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    keeper = Rotator(log, NO_END)
    assert keeper.look() == []
    log.write_bytes(numbered(0, LINES))
    news: list[dict[str, object]] = []

    def archived() -> bool:
        news.extend(keeper.look())
        return bool(news)

    wait_until(archived, what="the log was archived")
    assert news[0]["event"] == "log-archived"
    assert news[0]["file"] == "server.log.0001.gz"


def test_what_cant_be_written_is_told_once_and_loses_nothing(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_bytes(numbered(0, LINES))
    (tmp_path / "server.log.segments").write_bytes(b"not ours")
    keeper = Rotator(log, NO_END)
    for _ in range(2):  # in a thread, as it would: it has a lower priority from then on
        thread = threading.Thread(target=keeper._work)
        thread.start()
        thread.join()
    (news,) = keeper.look()
    assert news["event"] == "log-not-rotated"
    assert log.read_bytes() == numbered(0, LINES)
