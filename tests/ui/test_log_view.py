"""The log view: the end of a real log, following, scrolling, and text from outside."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.growing_log import append, cut_head, truncate_shorter
from tests.support.log_screen import SIZES, TERM, Host, follows, rows, screen, shown
from tests.support.waiting import wait_until
from tui.app.widgets import log_pane
from tui.app.widgets.log_line import LogLine, draw_line


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "server.log"
    path.write_bytes(TERM.read_bytes())
    return path


@pytest.mark.parametrize("size", SIZES)
async def test_it_opens_at_the_end_of_a_real_log(log: Path, size: tuple[int, int]) -> None:
    app = Host(log)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        expected = TERM.read_text().split("\n")[:-1][-size[1] :]
        assert [row[2:-1] for row in screen(app)] == [shown(line, size[0]) for line in expected]
        assert app.view.line_count == 140
        assert follows(app)


@pytest.mark.parametrize("size", SIZES)
async def test_it_follows_what_is_appended(log: Path, size: tuple[int, int]) -> None:
    app = Host(log)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        append(log, b"[2026-11-29 16:50:00 TP0] one more line\n")
        app.view.refresh_lines()
        await pilot.pause()
        assert screen(app)[-1][2:].startswith(shown("[2026-11-29 16:50:00 TP0] one more line", size[0]).rstrip())
        assert app.view.line_count == 141


async def test_scrolling_up_stops_following_and_g_resumes(log: Path) -> None:
    app = Host(log)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("up")
        assert not follows(app)
        before = screen(app)
        append(log, b"a later line\n")
        app.view.refresh_lines()
        await pilot.pause()
        assert [row[:-1] for row in screen(app)] == [row[:-1] for row in before]
        assert app.view.line_count == 141
        await pilot.press("G")
        assert follows(app)
        assert screen(app)[-1].startswith("  a later line")


@pytest.mark.parametrize("key", ["up", "k", "pageup", "home", "g"])
async def test_every_way_up_stops_following(log: Path, key: str) -> None:
    app = Host(log)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        await pilot.press(key)
        assert not follows(app)
        await pilot.press("end")
        assert follows(app)
        assert app.view.is_vertical_scroll_end


async def test_f_toggles_following(log: Path) -> None:
    app = Host(log)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("F")
        assert not follows(app)
        append(log, b"unseen\n")
        app.view.refresh_lines()
        await pilot.pause()
        assert not any("unseen" in row for row in screen(app))
        await pilot.press("F")
        await pilot.pause()
        assert follows(app)
        assert "unseen" in screen(app)[-1]


async def test_keys_move_through_the_log(log: Path) -> None:
    lines = TERM.read_text().split("\n")
    app = Host(log)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("g")
        assert rows(app.view)[0][2:].startswith(lines[0][:70])
        await pilot.press("down", "j")
        assert rows(app.view)[0][2:].startswith(lines[2][:70])
        await pilot.press("pagedown")
        assert rows(app.view)[0][2:].startswith(lines[25][:70])
        await pilot.press("pageup", "up")
        assert rows(app.view)[0][2:].startswith(lines[1].rstrip()[:70])
        await pilot.press("right")
        assert rows(app.view)[1][2:].startswith(lines[2][38:70])
        await pilot.press("left", "left")
        assert rows(app.view)[1][2:].startswith(lines[2][:70])


async def test_a_progress_bar_moves_in_its_place(log: Path) -> None:
    append(log, b"\rLoading: 1/14")
    app = Host(log)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        assert screen(app)[-1].startswith("  Loading: 1/14")
        app.view.repainted = 0
        append(log, b"\rLoading: 2/14")
        app.view.refresh_lines()
        await pilot.pause()
        assert screen(app)[-1].startswith("  Loading: 2/14")
        assert app.view.repainted <= 2
        append(log, b"\nnext\n")
        app.view.refresh_lines()
        await pilot.pause()
        assert [row[2:15] for row in screen(app)[-2:]] == ["Loading: 2/14", "next         "]


@pytest.mark.parametrize("ending", [b"", b"\rLoading: 1/14"])
async def test_an_idle_log_repaints_nothing(log: Path, ending: bytes) -> None:
    append(log, ending)
    app = Host(log)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        app.view.repainted = 0
        for _ in range(5):
            app.view.refresh_lines()
            app.view.show(log)
            await pilot.pause()
        assert app.view.repainted == 0


async def test_a_flood_is_drawn_by_the_screen_and_not_by_the_line(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = 0

    def counting(*arguments: Any, **options: Any) -> LogLine:
        nonlocal drawn
        drawn += 1
        return draw_line(*arguments, **options)

    monkeypatch.setattr(log_pane, "draw_line", counting)
    app = Host(log)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        for _ in range(3):
            drawn = 0
            append(log, b"[2026-11-29 16:50:00 TP0] one of many\n" * 30_000)
            app.view.refresh_lines()
            await pilot.pause()
            assert 24 <= drawn <= 2 * 24
        drawn = 0
        app.set_focus(None)
        await pilot.pause()
        assert drawn == 0


async def test_lines_below_the_view_repaint_nothing_but_the_scroll_bar(log: Path) -> None:
    app = Host(log)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("g")
        await pilot.pause()
        app.view.repainted = 0
        append(log, b"far below\n" * 100)
        app.view.refresh_lines()
        await pilot.pause()
        assert app.view.repainted == 0
        assert app.view.line_count == 240


async def test_another_file_in_its_place_is_said(log: Path) -> None:
    app = Host(log)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        truncate_shorter(log)
        app.view.refresh_lines()
        await pilot.pause()
        assert [row[2:20].rstrip() for row in screen(app)[:3]] == ["── new file ──", "new", ""]
        assert follows(app)
        assert app.view.line_count == 1


async def test_a_cut_head_keeps_the_lines_in_view(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_bytes(b"".join(b"line %d\n" % number for number in range(5000)))
    app = Host(path, ascii_only=True)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("pageup")
        before = [row[:20] for row in rows(app.view)]
        cut_head(path, 4096)
        app.view.refresh_lines()
        await pilot.pause()
        assert [row[:20] for row in rows(app.view)] == before
        await pilot.press("g")
        assert rows(app.view)[0].startswith("  -- earlier lines archived --")


async def test_no_log_and_a_log_that_comes_later(tmp_path: Path) -> None:
    app = Host(None)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        assert screen(app)[0].startswith("  no log")
        app.view.show(tmp_path / "server.log")
        await pilot.pause()
        assert screen(app)[0].startswith("  nothing logged yet: ")
        append(tmp_path / "server.log", b"here\n")
        app.view.refresh_lines()
        await pilot.pause()
        assert screen(app)[0].startswith("  here ")
        app.view.show(None)
        await pilot.pause()
        assert screen(app)[0].startswith("  no log")
        assert app.view.line_count == 0


async def test_a_log_may_be_named_before_the_view_is_on_the_screen(log: Path) -> None:
    app = Host(log)
    app.view.show(log)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        assert "Gracefully exiting" in screen(app)[-1]


async def test_what_is_no_log_says_so(tmp_path: Path) -> None:
    app = Host(tmp_path)
    async with app.run_test(size=(200, 24)) as pilot:
        await pilot.pause()
        assert f"{tmp_path} is not a regular file; name a log file" in screen(app)[0]


async def test_a_large_log_is_at_its_end_at_once_and_then_complete(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_bytes(
        b"".join(b"[2026-11-29 16:49:08] line %07d of a large log\n" % number for number in range(800_000))
    )
    app = Host(path)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        assert "line 0799999" in screen(app)[-1]
        assert not app.view.is_counted
        await pilot.press("pageup")
        before = [row[:-1] for row in screen(app)]

        def counted() -> bool:
            app.view.refresh_lines()
            return app.view.is_counted

        wait_until(counted, what="the whole log is counted")
        await pilot.pause()
        assert [row[:-1] for row in screen(app)] == before
        assert app.view.line_count == 800_000
        await pilot.press("g")
        assert "line 0000000" in screen(app)[0]


async def test_a_resized_view_stays_at_the_end(log: Path) -> None:
    last = TERM.read_text().split("\n")[-2]
    app = Host(log)
    async with app.run_test(size=(80, 24)) as pilot:
        for size in [(100, 10), (160, 48), (40, 5)]:
            await pilot.resize_terminal(*size)
            await pilot.pause()
            assert screen(app)[-1][2:-1] == shown(last, size[0])
            assert follows(app)
