"""Searching, filtering and jumping in a log, pausing, wrapping, copying, and the log of an earlier launch."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual import events
from textual.app import App, ComposeResult
from textual.pilot import Pilot

from tests.support.fake_core import instance
from tests.support.growing_log import append
from tests.support.rotating import NO_END, segments
from tests.support.waiting import wait_until
from tui.app.glyphs import UNICODE
from tui.app.widgets.log_pager import show_in_pager
from tui.app.widgets.log_panel import LogPanel
from tui.app.widgets.log_prompt import take_typed_ahead
from tui.app.widgets.log_view import LogView
from tui.keeper.rotation import Rotator
from tui.keeper.states import State

STAMP = "[2026-11-29 08:{:02d}:{:02d} TP0]"


def log_text() -> str:
    """2,000 lines, one a second: batches and access lines, and now and then a problem."""
    lines = []
    for number in range(2000):
        stamp = STAMP.format(number // 60, number % 60)
        if number % 500 == 123:
            lines.append(f"{stamp} Scheduler hit an exception: Traceback (most recent call last):")
            lines.append('  File "scheduler.py", line 3, in run')
            lines.append(f"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {number} MiB.")
        elif number % 10 == 3:
            lines.append(f'{stamp[:-5]}] INFO:     127.0.0.1:5{number:04d} - "POST /generate HTTP/1.1" 200 OK')
        elif number % 10 == 7:
            lines.append(f"{stamp} something else {number}")
        else:
            lines.append(f"{stamp} Decode batch, #running-req: 1, #token: {number}")
    return "\n".join(lines) + "\n"


class Host(App[None]):
    """Nothing but a log panel."""

    def __init__(self, log: Path) -> None:
        super().__init__()
        self.copied = ""
        self.panel = LogPanel(UNICODE, id="log", classes="panel")
        self.one = instance("qwen", State.READY, launch=log.parent.name, log_path=log)

    def compose(self) -> ComposeResult:
        yield self.panel

    def on_mount(self) -> None:
        self.panel.styles.height = "1fr"
        self.panel.query_one(LogView).styles.height = "1fr"
        self.panel.show(self.one, "no log", zoomed=True)
        self.panel.log_view.focus()
        self.screen.set_interval(0.05, self.panel.refresh_lines)

    def on_key(self, event: events.Key) -> None:
        take_typed_ahead(self, event)

    def copy_to_clipboard(self, text: str) -> None:
        self.copied = text


@pytest.fixture
def log(tmp_path: Path) -> Path:
    folder = tmp_path / "qwen" / "20261129T171001Z-0007"
    folder.mkdir(parents=True)
    path = folder / "server.log"
    path.write_text(log_text())
    return path


@asynccontextmanager
async def opened(log: Path) -> AsyncIterator[tuple[Host, Pilot[None]]]:
    app = Host(log)
    async with app.run_test(size=(120, 30)) as pilot:
        await pilot.pause()
        yield app, pilot


def write(log: Path, text: str) -> None:
    log.write_text(text)


def screen(app: App[None]) -> list[str]:
    return ["".join(segment.text for segment in strip).rstrip() for strip in app.screen._compositor.render_strips()]


def status(app: Host) -> str:
    return str(app.panel.query_one("#log-status").render())


def selected(app: Host) -> str:
    """The row that is pointed at."""
    rows = [row for row in screen(app) if row[1:2] == "▸"]
    return rows[0][2:].strip() if len(rows) == 1 else f"{len(rows)} rows"


async def until(pilot: Pilot[None], app: Host, condition: object, what: str) -> None:
    assert callable(condition)
    for _ in range(400):
        await pilot.pause(0.02)
        if condition():
            return
    raise AssertionError(f"{what}: {status(app)!r}\n" + "\n".join(screen(app)))


async def typed(pilot: Pilot[None], key: str, text: str) -> None:
    await pilot.press(key)
    await pilot.press(*text, "enter")


async def test_a_search_finds_the_newest_match_first_and_counts(log: Path) -> None:
    async with opened(log) as (app, pilot):
        await typed(pilot, "/", "out of m.mory")
        await until(pilot, app, lambda: "allocate 1623 MiB" in selected(app), "the newest one")
        await until(pilot, app, lambda: "/out of m.mory: 4 of 4" in status(app), "the count")
        await pilot.press("N")
        await until(pilot, app, lambda: "allocate 1123 MiB" in selected(app), "the one above")
        assert "3 of 4" in status(app)
        await pilot.press("n")
        await until(pilot, app, lambda: "allocate 1623 MiB" in selected(app), "the one below")
        await pilot.press("n")
        await until(pilot, app, lambda: "no match of out of m.mory below" in status(app), "no more")
        assert "allocate 1623 MiB" in selected(app)
        await typed(pilot, "t", "1")
        await until(pilot, app, lambda: "08:00:00" in selected(app), "a line that doesn't match")
        assert status(app).strip() == "/out of m.mory: 4"


async def test_a_search_that_finds_nothing_says_that_case_counts(log: Path) -> None:
    async with opened(log) as (app, pilot):
        await typed(pilot, "/", "OUT OF M.MORY")
        hint = "no match of OUT OF M.MORY in this log; case counts, (?i) in front ignores it"
        await until(pilot, app, lambda: hint in status(app), "the hint")
        await typed(pilot, "/", "(?i)OUT OF M.MORY")
        await until(pilot, app, lambda: "allocate 1623 MiB" in selected(app), "the newest one")
        await typed(pilot, "/", "(?i)nonesuch")
        await until(pilot, app, lambda: "no match of (?i)nonesuch in this log" in status(app), "nothing")
        assert "case counts" not in status(app)


async def test_a_search_goes_there_although_nothing_new_is_shown(log: Path) -> None:
    async with opened(log) as (app, pilot):
        await pilot.press("=")
        await typed(pilot, "/", "allocate 123 MiB")
        await until(pilot, app, lambda: "allocate 123 MiB" in selected(app), "the match")
        assert "PAUSED" in status(app)


async def test_keys_typed_ahead_are_meant_for_the_prompt(log: Path) -> None:
    async with opened(log) as (app, pilot):
        for key in "/CUDA out":
            app.post_message(events.Key({" ": "space", "/": "slash"}.get(key, key), key))
        app.post_message(events.Key("enter", None))
        await until(pilot, app, lambda: "/CUDA out: 4 of 4" in status(app), "the search")
        assert "no access lines" not in status(app)


async def test_matches_are_highlighted(log: Path) -> None:
    async with opened(log) as (app, pilot):
        await typed(pilot, "/", "something")
        await until(pilot, app, lambda: "something else 1997" in selected(app), "the match")
        row = next(y for y, text in enumerate(screen(app)) if "something else 1987" in text)
        strip = app.screen._compositor.render_strips()[row]
        style = app.panel.log_view.get_component_rich_style("log-view--match")
        assert [part.text for part in strip if part.style and part.style.bgcolor == style.bgcolor] == ["something"]


async def test_a_wrong_expression_says_so(log: Path) -> None:
    async with opened(log) as (app, pilot):
        await typed(pilot, "/", "(")
        await until(pilot, app, lambda: "'(' is no regular expression" in status(app), "said")


async def test_the_selected_line_keeps_still_while_lines_come_in(log: Path) -> None:
    async with opened(log) as (app, pilot):
        await typed(pilot, "/", "something else 997$")
        await until(pilot, app, lambda: "something else 997" in selected(app), "the match")
        before = screen(app)[:-1]
        append(log, b"new line\n" * 500)
        await until(pilot, app, lambda: app.panel.log_view.line_count == 2508, "new lines")
        assert [row[:100].rstrip() for row in screen(app)[:-1]] == [row[:100].rstrip() for row in before]


async def test_problems_one_by_one(log: Path) -> None:
    async with opened(log) as (app, pilot):
        await pilot.press("g")
        await pilot.press("e")
        await until(pilot, app, lambda: "Traceback" in selected(app), "the first problem")
        await pilot.press("e")
        await until(pilot, app, lambda: "allocate 123 MiB" in selected(app), "its last line")
        await pilot.press("e")
        await until(pilot, app, lambda: "08:10:23" in selected(app), "the second problem")
        await pilot.press("E")
        await until(pilot, app, lambda: "allocate 123 MiB" in selected(app), "back")


async def test_a_filter_shows_only_what_matches_and_follows(log: Path) -> None:
    async with opened(log) as (app, pilot):
        await typed(pilot, "&", "something else")
        await until(pilot, app, lambda: "only something else: 200 lines" in status(app), "the filter")
        assert sum("something else" in row for row in screen(app)) > 20
        assert not any("Decode" in row for row in screen(app))
        append(log, b"Decode batch\nsomething else at last\n")
        await until(pilot, app, lambda: any("something else at last" in row for row in screen(app)), "followed")
        await typed(pilot, "&", "")
        await until(pilot, app, lambda: any("Decode batch" in row for row in screen(app)), "all again")
        assert status(app).strip() == ""


async def test_access_and_batch_lines_can_be_hidden(log: Path) -> None:
    async with opened(log) as (app, pilot):
        await pilot.press("B")
        await until(pilot, app, lambda: not any("Decode batch" in row for row in screen(app)), "no batch lines")
        assert any("POST /generate" in row for row in screen(app))
        assert "no Prefill and Decode lines" in status(app)
        await pilot.press("A")
        await until(pilot, app, lambda: not any("POST" in row for row in screen(app)), "no access lines")
        assert any("something else 1997" in row for row in screen(app))
        await pilot.press("A", "B")
        await until(pilot, app, lambda: any("Decode" in row for row in screen(app)), "all again")


@pytest.mark.parametrize(
    ("where", "line"),
    [
        ("08:10", "[2026-11-29 08:10:00 TP0] Decode batch, #running-req: 1, #token: 600"),
        ("2026-11-29 08:20:01", "[2026-11-29 08:20:01 TP0] Decode batch, #running-req: 1, #token: 1201"),
        ("0%", "[2026-11-29 08:00:00 TP0] Decode batch, #running-req: 1, #token: 0"),
        ("50%", "[2026-11-29 08:16:40 TP0] Decode batch, #running-req: 1, #token: 1000"),
        ("3", "[2026-11-29 08:00:02 TP0] Decode batch, #running-req: 1, #token: 2"),
    ],
)
async def test_going_somewhere(log: Path, where: str, line: str) -> None:
    async with opened(log) as (app, pilot):
        await typed(pilot, "t", where)
        await until(pilot, app, lambda: selected(app) != "0 rows", "a line is selected")
        number = log_text().split("\n").index(line)
        wanted = app.panel.log_view.selected
        assert wanted is not None
        assert abs(wanted - number) <= (10 if "%" in where else 0)  # a percentage is one of the bytes
        assert selected(app) == log_text().split("\n")[wanted]


@pytest.mark.parametrize(
    ("where", "words"), [("23:00", "no line is stamped 23:00:00 or later"), ("noon", "'noon' is no time")]
)
async def test_nowhere_to_go_is_said(log: Path, where: str, words: str) -> None:
    async with opened(log) as (app, pilot):
        await typed(pilot, "t", where)
        await until(pilot, app, lambda: words in status(app) or "no line is stamped" in status(app), "said")


async def test_pause_shows_nothing_new(log: Path) -> None:
    async with opened(log) as (app, pilot):
        await pilot.press("=")
        before = screen(app)[1:-1]
        append(log, b"unseen\n" * 50)
        for _ in range(5):
            app.panel.refresh_lines()
            await pilot.pause()
        assert [row for row in screen(app) if "unseen" in row] == []
        assert before[:20] == screen(app)[1:21]
        assert "PAUSED" in status(app)
        await pilot.press("=")
        await until(pilot, app, lambda: "unseen" in screen(app)[-1], "it goes on")


async def test_wrapped_lines_lose_nothing(log: Path) -> None:
    write(log, "first\n" + "".join(f"{part:04d} " for part in range(300)) + "\nlast\n")
    async with opened(log) as (app, pilot):
        await pilot.press("w")
        await pilot.pause()
        text = "".join(row[2:119].ljust(117) for row in screen(app)[1:14])
        assert text.split() == [f"{part:04d}" for part in range(300)]
        assert screen(app)[14][2:6] == "last"
        await pilot.press("w")
        await pilot.pause()
        assert screen(app)[2][2:6] == "last"


async def test_wrapped_it_follows_and_scrolls_by_rows(log: Path) -> None:
    long = "".join(f"{part:04d} " for part in range(100))
    write(log, "".join(f"{number} {long}\n" for number in range(30)))
    async with opened(log) as (app, pilot):
        await pilot.press("w")
        await pilot.pause()
        assert screen(app)[-1].strip().endswith("0099")
        append(log, b"the end\n")
        await until(pilot, app, lambda: screen(app)[-1].strip() == "the end", "followed")
        above = screen(app)[-2]
        await pilot.press("up")
        await pilot.pause()
        assert screen(app)[-1] == above
        await pilot.press("down")
        await pilot.pause()
        assert screen(app)[-1].strip() == "the end"
        await pilot.press("g")
        await pilot.pause()
        assert screen(app)[0].startswith("  0 0000")


async def test_the_selected_line_is_copied(log: Path) -> None:
    async with opened(log) as (app, pilot):
        await typed(pilot, "/", "something else 997$")
        await until(pilot, app, lambda: "something else 997" in selected(app), "the match")
        await pilot.press("c")
        assert app.copied == "[2026-11-29 08:16:37 TP0] something else 997"


async def test_an_earlier_launch_cant_be_mistaken(log: Path) -> None:
    earlier = log.parent.with_name("20261128T171001Z-0006")
    earlier.mkdir()
    (earlier / "server.log").write_text("an old line\n")
    async with opened(log) as (app, pilot):
        await pilot.press("p")
        await until(pilot, app, lambda: any("an old line" in row for row in screen(app)), "the old log")
        assert "EARLIER LAUNCH ▸ qwen/20261128T171001Z-0006" in str(app.panel.border_title)
        assert "P: newest" in str(app.panel.border_title)
        app.panel.show(app.one, "no log", zoomed=True)  # as each snapshot does
        await pilot.pause()
        assert any("an old line" in row for row in screen(app))
        await pilot.press("P")
        await until(pilot, app, lambda: not any("an old line" in row for row in screen(app)), "the newest log")
        assert "Log ▸ qwen/" in str(app.panel.border_title)


async def test_all_of_it_across_segments(log: Path) -> None:
    write(log, log_text() * 20)
    Rotator(log, NO_END).rotate()
    assert segments(log.parent)
    append(log, b"[2026-11-29 09:00:00] the end\n")
    async with opened(log) as (app, pilot):
        await until(pilot, app, lambda: app.panel.log_view.line_count == 20 * 2008 + 1, "all lines are counted")
        await typed(pilot, "/", "out of memory")
        await until(pilot, app, lambda: "of 80" in status(app), "all segments are searched")
        await pilot.press("g")
        await pilot.pause()
        assert screen(app)[0][2:].startswith("[2026-11-29 08:00:00 TP0] Decode batch")
        Rotator(log, NO_END).rotate()
        await pilot.press("e")
        await until(pilot, app, lambda: "08:02:03" in selected(app), "the first problem, from a segment")


def test_the_pager_gets_safe_text(log: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    log.write_bytes(b"\x1b]0;title\x07plain\nnext\n")
    monkeypatch.setenv("PAGER", f"sh -c 'cat > {tmp_path}/paged'")
    show_in_pager(log, 0)
    wait_until((tmp_path / "paged").exists, what="the pager ran")
    assert (tmp_path / "paged").read_text() == "plain\nnext\n"
