"""Finding, sifting and numbering lines: against looking at every line one by one."""

from __future__ import annotations

import re
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.growing_log import append
from tests.support.logs import REAL_LOGS
from tui.errors import UsageError
from tui.logs import search
from tui.logs.file import LogFile
from tui.logs.matches import MatchIndex
from tui.logs.moments import find_moment, parse_moment
from tui.logs.pattern import compile_pattern
from tui.logs.sieve import All, Hidden, Problems, Sieve
from tui.logs.text import sanitize

_ATOMS = st.sampled_from(["abc", "b", "[abc]", "[^b]", r"\.", r"\w", "(abc)", "(a|bc)", "x41", r"\x61", "(?:bc)", "."])
_EXPRESSIONS = st.lists(st.tuples(_ATOMS, st.sampled_from(["", "", "*", "?", "+", "{2}", "{0,1}"])), max_size=5).map(
    lambda parts: "".join(atom + repeat for atom, repeat in parts)
)
_LINES = st.lists(st.sampled_from(["abc", "a.b", "bc", "", "abcabc", "\tx", "a\x1b[1mbc", "ABC", "é abc"]), max_size=5)


@pytest.mark.parametrize(
    ("text", "literals"),
    [
        ("CUDA out of memory", (b"CUDA out of memory",)),
        ("out of (memory|space) now", (b"out of ",)),
        (r"foo\.bar|bazz", (b"foo.bar", b"bazz")),
        ("abc+defgh", (b"defgh",)),
        ("a|bcd", ()),
        (r"abc\x41defg", ()),
        ("(?i)Out of Memory", (b"out of memory",)),
        ("[^]x]y[a-z]long", (b"long",)),
    ],
)
def test_literals_of_an_expression(text: str, literals: tuple[bytes, ...]) -> None:
    assert compile_pattern(text).literals == literals


def test_no_regular_expression_is_a_wrong_usage() -> None:
    with pytest.raises(UsageError, match="is no regular expression"):
        compile_pattern("(")


@settings(max_examples=100, deadline=None)
@given(st.lists(_EXPRESSIONS, min_size=1, max_size=3).map("|".join), st.booleans(), _LINES.map("".join))
def test_the_literals_never_hide_a_match(expression: str, folded: bool, line: str) -> None:
    text = f"(?i){expression}" if folded else expression
    data = line.encode()
    expected = re.search(text, sanitize(data)) is not None
    assert compile_pattern(text).matches(data) == expected
    assert compile_pattern(text).may_hold(b"other\n" + data + b"\n") >= expected


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from(["abc", "other", "", "x" * 90, "abc abc", "é"]), max_size=40),
    st.integers(20, 200),
    st.booleans(),
    st.data(),
)
def test_the_next_line_either_way(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], block: int, ends: bool, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("log") / "server.log"
    path.write_bytes("\n".join(lines).encode() + b"\n" * (ends and bool(lines)))
    begins, at = [], 0
    for line in lines:
        begins.append(at)
        at += len(line.encode()) + 1
    first = data.draw(st.integers(0, len(lines)))
    start = begins[first] if first < len(lines) else path.stat().st_size
    pattern, old = compile_pattern("abc"), search._BLOCK_BYTES
    below = [begins[number] for number in range(first, len(lines)) if "abc" in lines[number]]
    above = [begins[number] for number in range(first) if "abc" in lines[number]]
    file = LogFile.open(path)
    assert file is not None
    try:
        search._BLOCK_BYTES = block
        with closing(file):
            assert search.find_line(file, pattern, start, backwards=False) == (below[0] if below else None)
            assert search.find_line(file, pattern, start, backwards=True) == (above[-1] if above else None)
    finally:
        search._BLOCK_BYTES = old


def test_a_search_ends_when_it_is_told_to(tmp_path: Path) -> None:
    append(tmp_path / "log", b"abc\n")
    file = LogFile.open(tmp_path / "log")
    assert file is not None
    with closing(file):
        assert search.find_line(file, compile_pattern("abc"), 0, backwards=False, is_over=lambda: True) is None


def test_matches_are_numbered_and_read_back(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    lines = [b"line %d %s" % (number, b"abc" if number % 7 == 3 else b"xyz") for number in range(200_000)]
    path.write_bytes(b"\n".join(lines) + b"\nabc without an end")
    wanted = [line for line in lines if b"abc" in line]
    with closing(MatchIndex(path, compile_pattern("abc"), 0)) as matches:
        while matches.update():
            pass
        assert matches.count == len(wanted)
        for first in (0, 1000, len(wanted) - 5):
            assert matches.read(first, 50) == wanted[first : first + 50]
        offset = matches.offset_of(12_345)
        assert offset is not None
        assert matches.line_at(offset) == 12_345
        assert matches.line_at(offset + 1) == 12_346
        append(path, b" now\n")
        assert matches.update()
        assert matches.read(len(wanted), 5) == [b"abc without an end now"]
    assert matches.read(0, 5) == []


@pytest.mark.parametrize("log", REAL_LOGS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_nothing_is_hidden_that_isnt_of_the_kind(log: Path) -> None:
    lines = log.read_bytes().split(b"\n")
    hidden = [line for line in lines if not Hidden(access=True, batch=True).matches(line)]
    assert all(b" batch" in line or b'HTTP/1.1"' in line for line in hidden)
    left = [line for line in lines if Hidden(access=True, batch=True).matches(line)]
    assert not any(re.search(rb"\] (?:Prefill|Decode) batch", line) for line in left)


def test_problems_are_the_heads_of_problems() -> None:
    lines = (Path(__file__).parents[1] / "fixtures" / "real" / "0.5.11" / "notenough.log").read_bytes().split(b"\n")
    found = [sanitize(line) for line in lines if Problems().matches(line)]
    assert any("Not enough memory" in line for line in found)
    assert not any(line.startswith('  File "') for line in found)


def test_all_lets_pass_what_each_lets_pass() -> None:
    both: Sieve = All((compile_pattern("abc"), Hidden(batch=True)))
    assert both.matches(b"abc")
    assert not both.matches(b"[x] Decode batch, abc")
    assert not both.may_hold(b"nothing of it")


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("12:30", ("", "12:30:00")),
        ("9:05:07", ("", "09:05:07")),
        ("2026-11-29 12:30", ("2026-11-29", "12:30:00")),
        ("noon", None),
    ],
)
def test_what_moments_are_typed_like(text: str, moment: tuple[str, str] | None) -> None:
    assert parse_moment(text) == moment


def test_a_moment_is_found_across_midnight(tmp_path: Path) -> None:
    path = tmp_path / "log"
    lines = [
        f"[2026-11-{day} {hour:02d}:{minute:02d}:00] x{'y' * 200}"
        for day in (28, 29)
        for hour in range(24)
        for minute in range(60)
    ]
    lines.insert(5, "no stamp here")
    path.write_text("\n".join(lines) + "\n")
    file = LogFile.open(path)
    assert file is not None
    with closing(file):
        for date, time, stamp in [
            ("2026-11-28", "13:30:00", "[2026-11-28 13:30:00]"),
            ("2026-11-28", "13:30:01", "[2026-11-28 13:31:00]"),
            ("2026-11-27", "00:00:00", "[2026-11-28 00:00:00]"),
            ("", "00:00:00", "[2026-11-29 00:00:00]"),
            ("", "23:59:00", "[2026-11-29 23:59:00]"),
        ]:
            offset = find_moment(file, date, time)
            assert offset is not None
            assert file.read(offset, len(stamp)).decode() == stamp
        assert find_moment(file, "2026-11-30", "00:00:00") is None


def test_no_stamps_no_moment(tmp_path: Path) -> None:
    append(tmp_path / "log", b"plain\n")
    file = LogFile.open(tmp_path / "log")
    assert file is not None
    with closing(file):
        assert find_moment(file, "", "12:00:00") is None
