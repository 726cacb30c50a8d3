"""The log view: the end of a real log, following, scrolling, and text from outside."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from textual.app import App, ComposeResult
from textual.strip import Strip

from tests.support.growing_log import append, cut_head, truncate_shorter
from tests.support.waiting import wait_until
from tui.app.widgets import log_pane
from tui.app.widgets.log_line import LogLine, draw_line
from tui.app.widgets.log_view import LogView

TERM = Path(__file__).parents[1] / "fixtures" / "real" / "0.5.11" / "term.log"
SIZES = [(80, 24), (160, 48)]


class Host(App[None]):
    """Nothing but a log view."""

    def __init__(self, path: Path | None, *, ascii_only: bool = False) -> None:
        super().__init__()
        self._path = path
        self.view = Watched(ascii=ascii_only)

    def compose(self) -> ComposeResult:
        yield self.view

    def on_mount(self) -> None:
        self.view.show(self._path)
        self.view.focus()


class Watched(LogView):
    """Counts the rows that were repainted."""

    repainted = 0

    def render_line(self, y: int) -> Strip:
        self.repainted += 1
        return super().render_line(y)


def rows(view: LogView) -> list[str]:
    return [view.render_line(y).text for y in range(view.size.height)]


def shown(line: str, width: int) -> str:
    """A plain line as it should stand in a window: below 100 columns without its date, and with `…` where it is cut."""
    if width < 100:
        line = re.sub(r"^\[\d{4}-\d\d-\d\d (\d\d:\d\d:\d\d(?: TP\d)?)\] ", r"\1 ", line)
    room = width - 3  # between gutter and scroll bar
    if len(line) <= room:
        return line.ljust(room)
    kept = line[: room - 1]
    if line[room - 1] in "0123456789.,":
        kept = kept.rstrip("0123456789.,")
    return f"{kept}…".ljust(room)


def follows(app: Host) -> bool:
    return app.view.following


def screen(app: App[None]) -> list[str]:
    """What the terminal shows: the rows that the compositor put together."""
    return ["".join(segment.text for segment in strip) for strip in app.screen._compositor.render_strips()]


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


LONG = "weights took 51.25 of 94.30 GiB"


@pytest.mark.parametrize(
    ("width", "row"),
    [
        (34, LONG),  # it fits to the cell
        (33, "weights took 51.25 of 94.30 G…"),
        (28, "weights took 51.25 of …"),  # not "94…", which would be another number
        (27, "weights took 51.25 of …"),
        (20, "weights took …"),
    ],
)
@pytest.mark.parametrize(("ascii_only", "mark"), [(False, "…"), (True, ">")])
async def test_a_cut_line_says_so_and_cuts_no_number(
    tmp_path: Path, *, width: int, row: str, ascii_only: bool, mark: str
) -> None:
    (tmp_path / "log").write_text(f"{LONG}\n{'7' * 100}\n")
    app = Host(tmp_path / "log", ascii_only=ascii_only)
    async with app.run_test(size=(width, 10)) as pilot:
        await pilot.pause()
        first, digits = (row[2:-1].rstrip() for row in screen(app)[:2])
        assert first == row.replace("…", mark)
        assert digits == "7" * (width - 4) + mark
        backgrounds = {segment.style.bgcolor for segment in app.view.render_line(1) if segment.style}
        assert len(backgrounds) == 1
        assert all(segment.style for segment in app.view.render_line(1))
        await pilot.press(*["right"] * 20)
        left = "<" if ascii_only else "…"
        assert screen(app)[1][:-1] == f" {left}{'7' * (width - 3)}"  # the end of the longest line, and no mark behind


@pytest.mark.parametrize("width", [30, 31])
async def test_characters_of_two_cells_are_cut_at_the_edge(tmp_path: Path, width: int) -> None:
    (tmp_path / "log").write_text("漢字" * 20)
    app = Host(tmp_path / "log")
    async with app.run_test(size=(width, 10)) as pilot:
        await pilot.pause()
        row = screen(app)[0]
        assert cell_len(row) == width
        assert row[2:].rstrip(" ▁").startswith("漢字" * 6)
        assert "…" in row


async def test_a_narrow_window_shows_the_time_of_day_alone(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text(
        "[2026-11-29 19:16:30] one\n"
        "[2026-11-29 19:16:31 TP0] two\n"
        "[2026-11-29 19:16:32.123 DP1 TP0] three\n"
        "[19:16:33] four\n"
        " 40%|####  | 2/5[2026-11-29 19:16:34] five\n"
        "INFO:     [2026-11-29] six\n"
    )
    app = Host(path)
    async with app.run_test(size=(99, 10)) as pilot:
        await pilot.pause()
        narrow = [
            "19:16:30 one",
            "19:16:31 TP0 two",
            "19:16:32.123 DP1 TP0 three",
            "19:16:33 four",
            " 40%|####  | 2/5[2026-11-29 19:16:34] five",
            "INFO:     [2026-11-29] six",
        ]
        assert [row[2:-1].rstrip() for row in screen(app)[:6]] == narrow
        await pilot.resize_terminal(100, 10)
        await pilot.pause()
        assert [row[2:-1].rstrip() for row in screen(app)[:6]] == path.read_text().split("\n")[:6]
        await pilot.resize_terminal(80, 10)
        await pilot.pause()
        assert [row[2:-1].rstrip() for row in screen(app)[:6]] == narrow


async def test_ascii_bars_are_made_of_hashes(tmp_path: Path) -> None:
    (tmp_path / "log").write_text(" 59%|█████▉    | 10/17 [00:05<00:03, 1.86it/s]\nnaïve\n")
    app = Host(tmp_path / "log", ascii_only=True)
    async with app.run_test(size=(80, 10)) as pilot:
        await pilot.pause()
        assert screen(app)[0][2:-1].rstrip() == " 59%|######    | 10/17 [00:05<00:03, 1.86it/s]"
        assert screen(app)[1][2:-1].rstrip() == r"na\xefve"


async def test_the_whole_of_the_longest_line_can_be_scrolled_to(log: Path) -> None:
    lines = TERM.read_text().split("\n")
    arguments = next(line for line in lines if "server_args=" in line)
    app = Host(log)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("g")
        for _ in range(len(arguments) // 30):
            app.view.action_scroll_right()
        await pilot.pause()
        row = next(row for row, line in enumerate(lines) if line is arguments)
        assert rows(app.view)[row].rstrip().endswith(arguments[-40:])
        column = app.view.column
        await pilot.press("right")
        assert app.view.column == column


HOSTILE = b"[/bold] \x1b[31mred\x1b]0;title\x07 [rank0]: x \xe2\x80\xae [@click=app.quit]y[/] \x9b2J\xff"


@pytest.mark.parametrize("size", SIZES)
async def test_text_from_outside_is_text(tmp_path: Path, size: tuple[int, int]) -> None:
    path = tmp_path / "[red]\x1b[2Jserver.log"
    app = Host(path)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        assert "nothing logged yet: " in screen(app)[0]
        append(path, HOSTILE + b"\n")
        app.view.refresh_lines()
        await pilot.pause()
        assert screen(app)[0].startswith("  [/bold] red [rank0]: x  [@click=app.quit]y[/] \ufffd")
        assert all("\x1b" not in row and "\x07" not in row and "\u202e" not in row for row in screen(app))


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


@pytest.mark.parametrize(("ascii_only", "signs"), [(False, "✗│! "), (True, "x|! ")])
async def test_signs_say_what_colours_say(tmp_path: Path, ascii_only: bool, signs: str) -> None:
    path = tmp_path / "server.log"
    path.write_bytes(
        b"RuntimeError: Not enough memory.\n"
        b'  File "a.py", line 1, in f\n'
        b"a.py:1: UserWarning: x\n"
        b"[2026-11-29 16:49:10 TP0] The server is fired up and ready to roll!\n"
        b"plain\n"
    )
    app = Host(path, ascii_only=ascii_only)
    async with app.run_test(size=(120, 24)) as pilot:
        await pilot.pause()
        assert "".join(row[0] for row in screen(app)[:5]) == signs + " "
        ready = app.view.render_line(3)
        time, ranks, body = (segment.style for segment in ready if segment.text.strip() and segment.style)
        assert len({time.color, ranks.color, body.color}) == 3
        # SGLang's own word for it proves nothing: it stands out, and isn't marked as good news.
        assert body.bold
        assert body.color == app.view.rich_style.color


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
