"""Lines in the log view: cut, signed, of two cells, from outside."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.cells import cell_len

from tests.support.growing_log import append
from tests.support.log_screen import SIZES, TERM, Host, rows, screen


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "server.log"
    path.write_bytes(TERM.read_bytes())
    return path


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


async def test_a_selected_line_keeps_its_colours_on_another_ground(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_text("[2026-11-29 08:00:00] WARNING:  careful\n[2026-11-29 08:00:01] plain\n")
    app = Host(path)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        before = [segment.style for segment in app.view.render_line(0) if segment.style]
        app.view.select(0)
        await pilot.pause()
        after = [segment.style for segment in app.view.render_line(0) if segment.style]
    assert {style.color for style in before} <= {style.color for style in after}
    assert not {style.bgcolor for style in before} & {style.bgcolor for style in after}
