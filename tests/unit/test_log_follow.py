"""Following a log, and its last lines."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.growing_log import (
    append,
    cut_head,
    expected_lines,
    remove_and_create,
    replace_by_rename,
    truncate_longer,
    truncate_shorter,
)
from tests.support.unprivileged import run_unprivileged
from tui.logs.file import LogFile
from tui.logs.follow import POLL_BYTES, Follower, LogChunk, tail_lines, tail_offset

REAL = Path(__file__).parents[1] / "fixtures" / "real"


@settings(max_examples=50, deadline=None)
@given(st.lists(st.binary(max_size=60).map(lambda piece: piece.replace(b"0", b"\n")), max_size=12))
def test_every_line_comes_once(tmp_path_factory: pytest.TempPathFactory, pieces: list[bytes]) -> None:
    path = tmp_path_factory.mktemp("log") / "server.log"
    follower = Follower(path)
    lines: list[bytes] = []
    for piece in pieces:
        append(path, piece)
        lines += follower.poll().lines
    assert [*lines, follower.partial] == b"".join(pieces).split(b"\n")
    follower.close()


def test_the_log_may_come_later(tmp_path: Path) -> None:
    follower = Follower(tmp_path / "instances" / "server.log")
    assert follower.poll() == LogChunk()
    (tmp_path / "instances").mkdir()
    assert follower.poll() == LogChunk()
    append(follower.path, b"first\nsec")
    assert follower.poll() == LogChunk((b"first",))
    assert follower.partial == b"sec"
    follower.close()


def test_a_progress_bar_is_seen_while_it_has_no_end(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    follower = Follower(path)
    append(path, b"\rLoading: 1/14")
    assert follower.poll() == LogChunk()
    append(path, b"\rLoading: 2/14")
    follower.poll()
    assert follower.partial == b"\rLoading: 1/14\rLoading: 2/14"
    append(path, b"[2026-05-07 13:39:14 TP1] Load weight end.\n")
    assert follower.poll().lines == (b"\rLoading: 1/14\rLoading: 2/14[2026-05-07 13:39:14 TP1] Load weight end.",)
    assert follower.partial == b""
    follower.close()


@pytest.mark.parametrize("change", [truncate_shorter, truncate_longer, replace_by_rename, remove_and_create])
def test_another_content_is_told_at_the_next_poll(tmp_path: Path, change: type) -> None:
    path = tmp_path / "server.log"
    append(path, b"old line\n" * 10_000 + b"and a half")
    follower = Follower(path)
    follower.poll()
    change(path)
    chunk = follower.poll()
    assert chunk.reset
    assert chunk.lines[0] == b"new"
    assert list(chunk.lines) == expected_lines(path.read_bytes())
    assert follower.partial == b""
    assert follower.poll() == LogChunk()
    append(path, b"goes on\n")
    assert follower.poll() == LogChunk((b"goes on",))
    follower.close()


def test_a_replaced_file_is_read_to_its_end_first(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    append(path, b"a\n")
    follower = Follower(path)
    follower.poll()
    append(path, b"last words\n")
    replace_by_rename(path)
    assert follower.poll() == LogChunk((b"last words",))
    chunk = follower.poll()
    assert (chunk.reset, chunk.lines[0]) == (True, b"new")
    follower.close()


def test_a_removed_file_is_followed_on(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    with path.open("ab", buffering=0) as writer:
        writer.write(b"a\n")
        follower = Follower(path)
        follower.poll()
        path.unlink()
        writer.write(b"b\n")
        assert follower.poll() == LogChunk((b"b",))
    follower.close()


@pytest.mark.parametrize("cut", [4096, 10 * 4096, 39 * 4096])
@pytest.mark.parametrize("appended", [0, 5000, 300_000])
def test_a_cut_head_loses_and_repeats_nothing(tmp_path: Path, cut: int, appended: int) -> None:
    path = tmp_path / "server.log"
    numbers = iter(range(1_000_000))

    def lines(size: int) -> bytes:
        return b"".join(b"a line with its number %7d\n" % next(numbers) for _ in range(size // 31))

    append(path, lines(40 * 4096))
    follower = Follower(path)
    seen = list(follower.poll().lines)
    append(path, lines(appended))
    cut_head(path, cut)
    chunk = follower.poll()
    assert not chunk.reset
    seen += chunk.lines
    assert [int(line.rsplit(maxsplit=1)[1]) for line in seen] == list(range(next(numbers)))
    follower.close()


def test_a_flood_comes_in_bounded_chunks(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    line = b"x" * 99 + b"\n"
    append(path, line * 100_000)
    follower = Follower(path)
    first = follower.poll()
    assert first.more
    assert len(first.lines) == POLL_BYTES // 100
    total = len(first.lines)
    while (chunk := follower.poll()).lines:
        total += len(chunk.lines)
        assert chunk.more == (total < 100_000)
    assert total == 100_000
    follower.close()


def test_a_line_without_an_end_takes_bounded_memory(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    follower = Follower(path)
    piece = b"\rbar 12345" * (1 << 20)
    tracemalloc.start()
    for _ in range(4):
        append(path, piece)
        tracemalloc.reset_peak()
        while follower.poll().more:
            pass
        kept, peak = tracemalloc.get_traced_memory()
        assert kept < 4 << 20
        assert peak < 6 * POLL_BYTES
    tracemalloc.stop()
    assert follower.partial.endswith(b"\rbar 12345")
    assert len(follower.partial) < 4096
    append(path, b"\nnext\n")
    assert follower.poll().lines[1:] == (b"next",)
    follower.close()


def test_it_begins_where_it_is_told(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    append(path, b"a\nb\nc\n")
    follower = Follower(path, start=4)
    assert follower.poll() == LogChunk((b"c",))
    follower.close()


def test_a_start_beyond_the_end_is_another_file(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    append(path, b"a\n")
    follower = Follower(path, start=1000)
    assert follower.poll() == LogChunk((b"a",), reset=True)
    follower.close()


@pytest.mark.parametrize("count", [0, 1, 2, 17, 139, 140, 5000])
@pytest.mark.parametrize("ending", [b"", b"unfinished"])
def test_the_last_lines_of_a_real_log(tmp_path: Path, count: int, ending: bytes) -> None:
    path = tmp_path / "server.log"
    data = (REAL / "0.5.11" / "term.log").read_bytes() + ending
    append(path, data)
    assert tail_lines(path, count) == expected_lines(data)[-count:] * (count > 0)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from([b"\n", b"ab\n", b"x" * 70_000, b"y\n" * 40_000]), max_size=6).map(b"".join),
    st.integers(0, 90_000),
)
def test_the_last_lines_of_any_log(tmp_path_factory: pytest.TempPathFactory, data: bytes, count: int) -> None:
    path = tmp_path_factory.mktemp("log") / "server.log"
    path.write_bytes(data)
    assert tail_lines(path, count) == expected_lines(data)[-count:] * (count > 0)


def test_the_tail_looks_back_only_so_far(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_bytes(b"x" * 1_000_000)
    file = LogFile.open(path)
    assert file is not None
    assert tail_offset(file, 10, within_bytes=100_000) == 900_000
    file.close()


def test_no_log_has_no_last_lines(tmp_path: Path) -> None:
    assert tail_lines(tmp_path / "server.log", 10) == []


def test_a_dropped_follower_lets_go_of_its_file(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_bytes(b"a\n")
    follower = Follower(path)
    follower.poll()
    assert str(path) in open_files()
    del follower
    assert str(path) not in open_files()


def open_files() -> set[str]:
    return {str(link.readlink()) for link in list(Path("/proc/self/fd").iterdir()) if link.is_symlink()}


def test_a_log_that_may_not_be_read_says_so(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.touch(0o000)
    code = """if True:
        import sys
        from pathlib import Path
        from tui.errors import SgltuiError
        from tui.logs.follow import Follower
        try:
            Follower(Path(sys.argv[1])).poll()
        except SgltuiError as error:
            print(error)
    """
    said = run_unprivileged(code, str(log))
    assert "server.log can't be read: Permission denied; look as the user who owns it" in said
