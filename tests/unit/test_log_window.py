"""A viewer of a huge log: it is where it wants to be at once, and its own thread never does much at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.growing_log import append
from tests.support.waiting import wait_until
from tui.logs import matches as matches_module
from tui.logs import search
from tui.logs.file import LogFile
from tui.logs.index import LineIndex
from tui.logs.matches import MatchIndex
from tui.logs.pattern import compile_pattern
from tui.logs.sieve import Hidden
from tui.logs.window import LogWindow
from tui.units import MIB

LINE = b"[2026-11-29 16:49:08] Decode batch, #running-req: 1, #token: %07d\n"
RARE = b"[2026-11-29 16:49:08] something rare %07d\n"
COUNT = 250_000  # 16 MiB


@pytest.fixture(scope="module")
def content() -> bytes:
    return b"".join((RARE if number % 1000 == 7 else LINE) % number for number in range(COUNT))


@pytest.fixture
def path(tmp_path: Path, content: bytes) -> Path:
    path = tmp_path / "server.log"
    path.write_bytes(content)
    return path


@pytest.fixture
def uncounted(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Nothing is counted or looked through in the background before this is set."""
    may_work = threading.Event()
    for owner in (LineIndex, MatchIndex):
        monkeypatch.setattr(owner, "update", _waiting(owner.update, may_work))
    yield may_work
    may_work.set()


def _waiting(update: Callable[..., bool], may_work: threading.Event) -> Callable[..., bool]:
    viewer = threading.get_ident()

    def wait(*arguments: object) -> bool:
        if threading.get_ident() != viewer:
            may_work.wait()
        return update(*arguments)

    return wait


def test_any_place_is_there_before_the_lines_are_counted(
    path: Path, content: bytes, uncounted: threading.Event
) -> None:
    with closing(LogWindow(path)) as window:
        window.refresh(at_end=True)
        middle = content.index(b"something rare 0125007") - len("[2026-11-29 16:49:08] ")
        assert not window.lines.covers(middle)
        assert window.reach(middle)
        window.refresh(at_end=False)
        number = window.lines.line_at(middle)
        assert window.lines.read(number, 2) == [(RARE % 125_007).rstrip(), (LINE % 125_008).rstrip()]
        assert not window.is_whole
        assert window.reach(window.start())
        assert window.lines.read(0, 1) == [(LINE % 0).rstrip()]
        assert window.refresh(at_end=True).moved
        assert window.lines.read(window.lines.count - 1, 1) == [(LINE % (COUNT - 1)).rstrip()]
        window.reach(middle)
        uncounted.set()
        shifts: list[int] = []

        def joined() -> bool:
            shifts.append(window.refresh(at_end=False).shift)
            return window.is_whole

        before = window.lines.line_at(middle)
        wait_until(joined, what="all is counted")
        assert before + shifts[-1] == 125_007
        assert window.lines.read(125_007, 1) == [(RARE % 125_007).rstrip()]


def test_a_filter_begins_at_the_end(path: Path, uncounted: threading.Event) -> None:
    with closing(LogWindow(path)) as window:
        window.refresh(at_end=True)
        window.show_only(compile_pattern("something rare"))
        window.refresh(at_end=True, near_top=True)
        assert window.looked_through < 0.2
        count = window.lines.count
        assert window.lines.read(count - 2, 2) == [(RARE % 248_007).rstrip(), (RARE % 249_007).rstrip()]
        append(path, RARE % 250_007 + b"unfinished")
        uncounted.set()
        shifts: list[int] = []

        def looked_through() -> bool:
            shifts.append(window.refresh(at_end=True, near_top=False).shift)
            return window.looked_through >= 1 and window.lines.count == window.found

        wait_until(looked_through, what="all was looked through")
        assert window.lines.count == 251
        assert sum(shifts) + count == 250
        assert window.lines.read(0, 1) == [(RARE % 7).rstrip()]
        assert window.lines.read(250, 5) == [(RARE % 250_007).rstrip()]


def test_a_filter_begins_where_the_viewer_is(path: Path, content: bytes, uncounted: threading.Event) -> None:
    middle = content.index(b"something rare 0125007") - len("[2026-11-29 16:49:08] ")
    with closing(LogWindow(path)) as window:
        window.refresh(at_end=False)
        window.show_only(Hidden(batch=True), middle)
        window.refresh(at_end=False, near_top=True)
        assert window.lines.covers(middle)
        number = window.lines.line_at(middle)
        assert window.lines.read(number - 1, 3) == [(RARE % one).rstrip() for one in (124_007, 125_007, 126_007)]
        assert window.reach(window.start())
        window.refresh(at_end=False)
        assert window.lines.read(0, 1) == [(RARE % 7).rstrip()]
        uncounted.set()


def test_the_viewers_thread_reads_little_at_a_time(path: Path, content: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stands for "no key waits": what a call reads is what it can take time for, whatever the machine."""
    viewer, taken = threading.get_ident(), 0
    read = LogFile.read

    def counting(file: LogFile, offset: int, length: int) -> bytes:
        nonlocal taken
        data = read(file, offset, length)
        taken += len(data) * (threading.get_ident() == viewer)
        return data

    monkeypatch.setattr(LogFile, "read", counting)
    window, middle = LogWindow(path), len(content) // 2
    most = {
        "look": 12 * MIB,  # the end and the part that is shown, and once more when both are joined
        "go": 9 * MIB,  # around the place, and a look whether all could be counted
        "page": 5 * MIB,
    }

    def cost(action: Callable[[], object], kind: str) -> None:
        nonlocal taken
        taken = 0
        action()
        assert taken <= most[kind], kind

    with closing(window):
        for sieve in (None, compile_pattern("rare"), Hidden(batch=True), compile_pattern("Decode")):
            cost(lambda sieve=sieve: window.show_only(sieve), "go")  # type: ignore[misc]
            for place in (0, middle, len(content) - 1):
                cost(lambda place=place: window.reach(place), "go")  # type: ignore[misc]
                for _ in range(2):
                    append(path, LINE % 0 * 40_000)  # 100,000 lines a second
                    cost(lambda: window.refresh(at_end=True, near_top=True), "look")
                    cost(lambda: window.lines.read(max(0, window.lines.count - 48), 48), "page")
                    cost(lambda: window.lines.read(0, 48), "page")


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from([b"abc", b"other", b"", b"x" * 90, b"abc abc"]), min_size=1, max_size=60),
    st.integers(20, 400),
    st.booleans(),
    st.data(),
)
def test_matches_from_anywhere_are_those_of_the_whole(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], block: int, ends: bool, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("log") / "server.log"
    path.write_bytes(b"\n".join(lines) + b"\n" * ends)
    complete = lines if ends else lines[:-1]
    begins = [sum(len(line) + 1 for line in lines[:number]) for number in range(len(lines) + 1)]
    wanted = [(begins[number], line) for number, line in enumerate(complete) if b"abc" in line]
    place = data.draw(st.none() | st.integers(0, path.stat().st_size))
    adoptions = data.draw(st.sets(st.integers(0, 30)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "_BLOCK_BYTES", block)
        patch.setattr(matches_module, "_PIECE_BYTES", block // 3)
        with closing(MatchIndex(path, compile_pattern("abc"), place)) as matches:
            step = 0
            while matches.update():
                if step in adoptions:
                    matches.adopt()
                step += 1
                known = matches.entries(0, 100)
                assert len(known) == matches.count
                assert b"".join(b"%d," % at for at, _ in known) in b"".join(b"%d," % at for at, _ in wanted)
            matches.adopt()
            assert matches.done == 1
            assert matches.found == matches.count == len(wanted)
            for first in range(len(wanted)):
                assert matches.entries(first, 3) == wanted[first : first + 3]
            for begin in begins:
                assert matches.line_at(begin) == sum(at < begin for at, _ in wanted)
