"""Line numbers of growing, truncated, replaced and very large logs."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing
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
from tests.support.waiting import wait_until
from tui.errors import SgltuiError
from tui.logs.index import LineIndex
from tui.logs.window import LogWindow

BLOCK = 64 * 1024

# Repeated pieces reach across many blocks of 64 KiB.
_PIECES = st.lists(
    st.builds(
        lambda piece, times: piece * times,
        st.sampled_from([b"\n", b"a\n", b"ab", b"\r1%", b"line\n\n"]),
        st.integers(0, 30_000),
    ),
    max_size=8,
)


def short(lines: list[bytes]) -> list[bytes]:
    """Long lines are compared by their ends."""
    return [line if len(line) <= BLOCK else line[:2048] + line[-1024:] for line in lines]


def without_notes(lines: list[bytes]) -> list[bytes]:
    return [line[:2048] + line[-1024:] if b" bytes left out] " in line else line for line in lines]


@settings(max_examples=40, deadline=None)
@given(_PIECES, st.integers(1, 4), st.data())
def test_any_appended_bytes_are_the_lines_they_are(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[bytes], every: int, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("log") / "server.log"
    with closing(LineIndex(path)) as index:
        for number, piece in enumerate(pieces):
            append(path, piece)
            if number % every == 0:
                index.update()
        index.update()
        lines = expected_lines(b"".join(pieces))
        assert index.count == len(lines)
        first = data.draw(st.integers(0, max(0, len(lines) - 1)))
        assert without_notes(index.read(first, 60)) == short(lines[first : first + 60])
        assert without_notes(index.read(0, len(lines))) == short(lines)
        assert index.unfinished == (bool(lines) and not b"".join(pieces).endswith(b"\n"))


def test_no_file_yet_is_no_lines(tmp_path: Path) -> None:
    index = LineIndex(tmp_path / "server.log")
    assert not index.update()
    assert (index.count, index.read(0, 10), index.generation) == (0, [], 0)
    append(tmp_path / "server.log", b"first\n")
    assert index.update()
    assert index.read(0, 10) == [b"first"]
    assert index.generation == 0
    index.close()


def test_an_unfinished_line_is_one_and_grows_in_place(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    append(path, b"a\nbar 1%")
    index = LineIndex(path)
    index.update()
    assert (index.count, index.unfinished) == (2, True)
    append(path, b"\rbar 2%")
    assert index.update()
    assert index.read(1, 1) == [b"bar 1%\rbar 2%"]
    append(path, b"\n")
    assert index.update()
    assert (index.count, index.unfinished) == (2, False)
    assert not index.update()
    index.close()


@pytest.mark.parametrize("length", [BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK])
def test_lines_at_the_edge_of_a_block(tmp_path: Path, length: int) -> None:
    path = tmp_path / "server.log"
    append(path, b"x" * (length - 1) + b"\n" + b"next\n" + b"\n" * (BLOCK - 5) + b"last")
    index = LineIndex(path)
    index.update()
    assert index.count == 2 + BLOCK - 5 + 1
    assert index.read(1, 2) == [b"next", b""]
    assert index.read(index.count - 2, 5) == [b"", b"last"]
    assert index.line_at(length) == 1
    assert index.line_at(length + 5) == 2
    index.close()


def test_a_huge_line_is_shortened_and_the_lines_around_it_are_not(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    size = 10 * 1024 * 1024
    append(path, b"before\n" + b"\rbar" * (size // 4) + b"\nafter\n" + b"h" * size)
    index = LineIndex(path)
    index.update(budget_bytes=4 * size)
    before, huge, after, unfinished = index.read(0, 10)
    assert (before, after) == (b"before", b"after")
    assert huge == (b"\rbar" * 512) + f" [{size - 3072} bytes left out] ".encode() + b"\rbar" * 256
    assert unfinished == b"h" * 2048 + f" [{size - 3072} bytes left out] ".encode() + b"h" * 1024
    index.close()


def test_a_budget_makes_slices(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    append(path, b"x\n" * (3 << 20))
    index = LineIndex(path)
    index.update(budget_bytes=1 << 20)
    assert index.count == 1 << 19
    assert index.behind_bytes == 5 << 20
    while index.behind_bytes:
        index.update(budget_bytes=1 << 20)
    assert index.count == 3 << 20
    index.close()


@pytest.mark.parametrize("change", [truncate_shorter, truncate_longer, replace_by_rename, remove_and_create])
def test_another_content_begins_anew(tmp_path: Path, change: Callable[[Path], None]) -> None:
    path = tmp_path / "server.log"
    append(path, b"old line\n" * 20_000)
    index = LineIndex(path)
    index.update()
    change(path)
    assert index.update()
    assert (index.generation, index.head_cut) == (1, False)
    assert index.read(0, 1) == [b"new"]
    assert index.count == path.read_bytes().count(b"\n")
    index.close()


def test_a_removed_log_stays_readable(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    append(path, b"still here\n")
    index = LineIndex(path)
    index.update()
    path.unlink()
    assert not index.update()
    assert index.read(0, 1) == [b"still here"]
    index.close()


def test_a_cut_head_renumbers_the_lines(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    data = b"".join(b"line %d\n" % number for number in range(20_000))
    append(path, data)
    index = LineIndex(path)
    index.update()
    cut_head(path, 16 * 4096)
    index.update()
    assert (index.generation, index.head_cut) == (1, True)
    assert index.read(0, 5) == expected_lines(data[16 * 4096 :])[:5]
    assert index.read(index.count - 1, 1) == [b"line 19999"]
    index.close()


def test_what_is_no_log_says_so(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(SgltuiError, match="pipe is not a regular file"):
        LineIndex(tmp_path / "pipe").update()


def test_a_closed_index_is_empty_and_stays_so(tmp_path: Path) -> None:
    append(tmp_path / "server.log", b"a\n")
    index = LineIndex(tmp_path / "server.log")
    index.update()
    index.close()
    assert not index.update()
    assert index.read(0, 1) == []


def test_a_large_log_shows_its_end_before_it_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    line = b"[2026-11-29 16:49:08] Decode batch, #running-req: 1, #token: %07d\n"
    append(path, b"".join(line % number for number in range(600_000)))  # 37 MiB, more than one refresh counts
    window = LogWindow(path)
    assert window.refresh(at_end=True).changed
    assert not window.is_whole
    count = window.lines.count
    assert 1000 < count < 100_000
    assert window.lines.read(count - 1, 1) == [(line % 599_999).rstrip()]
    append(path, b"one more\n")
    assert window.refresh(at_end=True).changed
    shifts: list[int] = []

    def joined() -> bool:
        shifts.append(window.refresh(at_end=True).shift)
        return window.is_whole

    wait_until(joined, what="the whole log is counted")
    assert shifts[-1] == 600_000 - count
    assert window.lines.count == 600_001
    assert window.lines.read(shifts[-1], 1) == [(line % (600_000 - count)).rstrip()]
    window.close()


def test_a_large_log_that_is_replaced_while_it_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    append(path, b"an old line\n" * 3_000_000)
    window = LogWindow(path)
    window.refresh(at_end=True)
    remove_and_create(path)
    assert window.refresh(at_end=True).restarted
    assert window.is_whole
    assert window.lines.read(0, 10) == [b"new"]
    window.close()


def test_the_window_says_where_the_lines_are_after_a_cut(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    append(path, b"".join(b"line %d\n" % number for number in range(20_000)))
    window = LogWindow(path)
    window.refresh(at_end=False)
    old = window.lines.read(15_000, 1)
    cut_head(path, 4096)
    change = window.refresh(at_end=False)
    assert change.restarted
    assert window.lines.read(15_000 + change.shift, 1) == old
    window.close()
