"""A rotated log read as one, with parts that are missing or damaged, and while it is being rotated."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.growing_log import append, expected_lines
from tests.support.rotating import LIMIT_BYTES, NO_END, finished, numbered, rotator, segments, start_writer
from tui.keeper import holes
from tui.keeper.rotation import Rotator
from tui.logs.file import LogFile
from tui.logs.follow import Follower, tail_lines
from tui.logs.index import LineIndex
from tui.logs.text import sanitize

LINES = 30_000  # 3 MB, three quarters of it in segments
MEMBER = 1 << 20


@pytest.fixture(params=[holes.COLLAPSE, holes.PUNCH])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """As the file system is, and as one that can't collapse."""

    def refuse(_: int, __: int) -> None:
        raise OSError(95, "Operation not supported")

    if request.param == holes.PUNCH:
        monkeypatch.setattr(holes, "collapse", refuse)
    return str(request.param)


def rotated(directory: Path, lines: int = LINES) -> Path:
    log = directory / "server.log"
    append(log, numbered(0, lines))
    Rotator(log, NO_END).rotate()
    assert segments(directory)
    return log


def opened(log: Path) -> LogFile:
    file = LogFile.open(log)
    assert file is not None
    return file


def read_all(log: Path) -> bytes:
    with closing(opened(log)) as file:
        return file.read(file.start, file.size())


@pytest.mark.usefixtures("way")
def test_any_part_of_it_is_what_was_written(tmp_path: Path) -> None:
    log, data, chance = rotated(tmp_path), numbered(0, LINES), random.Random(7)  # noqa: S311 - places to read at
    with closing(opened(log)) as file:
        assert (file.start, file.size()) == (0, len(data))
        assert 2 * LIMIT_BYTES < file.head < len(data)
        for edge in (0, MEMBER, 2 * MEMBER, file.head, len(data)):
            begin = max(0, edge - 100)
            assert file.read(begin, 200) == data[begin : begin + 200]
        for _ in range(50):
            begin, length = chance.randrange(len(data)), chance.randrange(2 * MEMBER)
            assert file.read(begin, length) == data[begin : begin + length]


@pytest.mark.usefixtures("way")
def test_readers_dont_notice_that_it_is_rotated(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    keeper, follower, index = Rotator(log, NO_END), Follower(log), LineIndex(log)
    seen: list[bytes] = []
    for first in range(0, 5 * LINES, LINES):
        append(log, numbered(first, first + LINES)[:-50])
        seen += follow_all(follower)
        index.update(1 << 30)
        keeper.rotate()
        append(log, numbered(first, first + LINES)[-50:])
    seen += follow_all(follower)
    index.update(1 << 30)
    assert seen == expected_lines(numbered(0, 5 * LINES))
    assert (index.count, index.generation) == (5 * LINES, 0)
    for first in (0, 17_000, 3 * LINES - 20, 5 * LINES - 40):
        assert index.read(first, 40) == expected_lines(numbered(first, first + 40))
    assert tail_lines(log, 4 * LINES) == expected_lines(numbered(LINES, 5 * LINES))
    follower.close()
    index.close()


def follow_all(follower: Follower) -> list[bytes]:
    lines: list[bytes] = []
    more = True
    while more:
        chunk = follower.poll()
        assert not chunk.reset
        lines += chunk.lines
        more = chunk.more
    return lines


@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(st.binary(max_size=40), st.integers(1, 60_000), st.booleans()), min_size=1, max_size=8))
def test_any_bytes_splits_and_rotations_give_the_lines_of_the_bytes(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[bytes, int, bool]]
) -> None:
    log = tmp_path_factory.mktemp("log") / "server.log"
    keeper, follower = Rotator(log, NO_END), Follower(log)
    lines: list[bytes] = []
    for piece, times, rotates in steps:
        append(log, piece.replace(b"0", b"\n") * times)
        lines += follow_all(follower)
        if rotates:
            keeper.rotate()
    written = b"".join(piece.replace(b"0", b"\n") * times for piece, times, _ in steps)
    assert read_all(log) == written
    *complete, rest = written.split(b"\n")
    assert [without_note(line) for line in [*lines, follower.partial]] == [short(line) for line in [*complete, rest]]
    assert all(is_safe(sanitize(line)) for line in lines[:500])
    follower.close()


def short(line: bytes) -> bytes:
    return line if len(line) <= MEMBER else line[:2048] + line[-1024:]


def without_note(line: bytes) -> bytes:
    return line[:2048] + line[-1024:] if b" bytes left out] " in line else line


def is_safe(text: str) -> bool:
    return not any(ord(sign) < 0x20 or 0x7F <= ord(sign) < 0xA0 for sign in text)


def test_a_flood_is_followed_and_read_while_it_is_rotated(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    chance, follower, seen = random.Random(3), Follower(log), 0  # noqa: S311 - places to read at
    with start_writer(tmp_path, 50_000, 2.0) as writer, rotator(tmp_path):
        while writer.poll() is None:
            lines = follow_all(follower)
            assert lines == expected_lines(numbered(seen, seen + len(lines)))
            seen += len(lines)
            if seen:
                first = chance.randrange(seen)
                with closing(opened(log)) as file:
                    line = len(numbered(0, 1))
                    assert file.read(first * line, 50 * line)[: (seen - first) * line].startswith(
                        numbered(first, min(first + 50, seen))
                    )
        written = finished(writer)
    seen += len(follow_all(follower))
    assert seen == written
    assert segments(tmp_path)
    follower.close()


def test_a_missing_segment_is_said_in_its_place(tmp_path: Path) -> None:
    log = rotated(tmp_path)
    segments(tmp_path)[0].unlink()
    data = read_all(log)
    assert len(data) == len(numbered(0, LINES))
    first, notice, *others = [sanitize(line) for line in data.split(b"\n")]
    assert first == ""
    assert notice.startswith("[sgltui: server.log.0001.gz can't be read: No such file or directory; ")
    assert others[-3:] == [line.decode() for line in numbered(0, LINES).split(b"\n")[-3:]]


@pytest.mark.parametrize("place", ["header", "body", "trailer"])
def test_a_damaged_part_is_said_in_its_place_and_the_rest_stays_readable(tmp_path: Path, place: str) -> None:
    log = rotated(tmp_path)
    packed = bytearray(segments(tmp_path)[0].read_bytes())
    second = packed.index(b"\x1f\x8b\x08\x04", 100)
    at = {"header": second + 2, "body": second + 2000, "trailer": packed.index(b"\x1f\x8b\x08\x04", second + 10) - 6}
    packed[at[place]] ^= 0xFF
    segments(tmp_path)[0].write_bytes(packed)
    data, whole = read_all(log), numbered(0, LINES)
    assert len(data) == len(whole)
    assert data[:MEMBER] == whole[:MEMBER]
    assert data[2 * MEMBER :] == whole[2 * MEMBER :]
    said = data[MEMBER : 2 * MEMBER].split(b"\n")
    assert sanitize(said[1]).startswith("[sgltui: server.log.0001.gz is damaged")
    assert f"{MEMBER} bytes are missing here]" in sanitize(said[1])


@pytest.mark.parametrize("kept", [0, 10, 30_000])
def test_a_cut_off_segment_is_readable_as_far_as_it_goes(tmp_path: Path, kept: int) -> None:
    log = rotated(tmp_path)
    segment = segments(tmp_path)[0]
    segment.write_bytes(segment.read_bytes()[: -kept or None] if kept else b"")
    data, whole = read_all(log), numbered(0, LINES)
    assert len(data) == len(whole)
    assert b"server.log.0001.gz is damaged" in data
    with closing(opened(log)) as file:
        assert data[file.head :] == whole[file.head :]
    if kept:
        assert data[:MEMBER] == whole[:MEMBER]


def test_random_damage_never_makes_it_unreadable(tmp_path: Path) -> None:
    log, chance = rotated(tmp_path), random.Random(11)  # noqa: S311 - places of damage
    intact, whole = segments(tmp_path)[0].read_bytes(), numbered(0, LINES)
    with closing(opened(log)) as file:
        head = file.head
    for _ in range(25):
        packed = bytearray(intact)
        for _ in range(chance.randrange(1, 6)):
            at = chance.randrange(len(packed))
            packed[at : at + chance.randrange(1, 64)] = chance.randbytes(chance.randrange(64))
        segments(tmp_path)[0].write_bytes(packed)
        data = read_all(log)
        assert len(data) == len(whole)
        assert data[head:] == whole[head:]


def test_a_journal_that_cant_be_read_is_said_and_the_newest_lines_are_shown(tmp_path: Path) -> None:
    log = rotated(tmp_path)
    (tmp_path / "server.log.segments").write_bytes(b'{"schema": 1, "nonsense": 7}')
    lines = [sanitize(line) for line in read_all(log).split(b"\n")]
    assert lines[1].startswith("[sgltui: server.log.segments can't be read (")
    assert lines[-2] == numbered(LINES - 1, LINES).decode().rstrip()


def truncate(log: Path) -> None:
    log.write_bytes(b"new\n")


def replace_file(log: Path) -> None:
    log.unlink()
    log.write_bytes(b"new\n")


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("change", [truncate, replace_file])
def test_a_rotated_log_that_others_truncate_or_replace(tmp_path: Path, change: Callable[[Path], None]) -> None:
    log = rotated(tmp_path)
    follower = Follower(log)
    follow_all(follower)
    change(log)
    chunk = follower.poll()
    assert (chunk.reset, chunk.lines) == (True, (b"new",))
    follower.close()
    Rotator(log, NO_END).rotate()
    append(log, b"more\n")
    assert read_all(log).endswith(b"new\nmore\n")


def test_an_index_forgets_the_lines_that_were_deleted(tmp_path: Path) -> None:
    log = rotated(tmp_path)
    index = LineIndex(log)
    index.update(1 << 30)
    before = index.read(LINES - 100, 100)
    append(log, numbered(LINES, LINES + 10))
    Rotator(log, replace(NO_END, age_s=0)).rotate()
    index.update(1 << 30)
    assert index.trimmed > LINES / 2
    assert index.count == LINES + 10 - index.trimmed
    assert index.read(LINES - 100 - index.trimmed, 100) == before
    first = index.read(1, 1)
    assert numbered(index.trimmed + 1, index.trimmed + 2).rstrip() == first[0]
    late = LineIndex(log)
    late.update(1 << 30)
    assert (late.count, late.read(1, 1)) == (index.count, first)
    index.close()
    late.close()


def test_a_follower_begins_with_what_is_kept(tmp_path: Path) -> None:
    log = rotated(tmp_path)
    Rotator(log, replace(NO_END, age_s=0)).rotate()
    follower = Follower(log)
    lines = follow_all(follower)
    assert numbered(0, LINES).endswith(b"\n".join(lines) + b"\n")
    assert not any(b"sgltui:" in line for line in lines)
    follower.close()
