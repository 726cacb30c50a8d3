"""What is sent makes a terminal show the same as if all had been sent; an emulator of one is the judge."""

from __future__ import annotations

from collections.abc import Sequence

import pyte
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.color import ColorSystem
from rich.segment import Segment
from rich.style import Style
from textual._compositor import ChopsUpdate, LayoutUpdate
from textual.geometry import Region
from textual.strip import Strip

from tui.app.picture import Picture

WIDTH, HEIGHT = 24, 2
STYLES = [
    Style.parse(words)
    for words in (
        "red on blue",
        "bold red on blue",
        "dim red on blue",
        "bold dim italic green on black",
        "reverse underline",
        "bold",
        "default on default",
        "#102030 on #405060",
        "strike not bold #102030 on #405060",
    )
]
TEXTS = st.text(st.sampled_from("aaabB 1.│é漢"), min_size=1, max_size=WIDTH)
PIECES = st.lists(st.tuples(TEXTS, st.sampled_from([None, *STYLES])), min_size=1, max_size=4)


class Shown:
    """A terminal."""

    def __init__(self) -> None:
        self.screen = pyte.Screen(WIDTH, HEIGHT)
        self._stream = pyte.Stream(self.screen)

    def feed(self, data: str) -> None:
        self._stream.feed(data)

    def cells(self) -> list[list[pyte.screens.Char]]:
        return [[self.screen.buffer[y][x] for x in range(WIDTH)] for y in range(HEIGHT)]


def strip_of(pieces: Sequence[tuple[str, Style | None]], width: int = WIDTH) -> Strip:
    """So wide, however long the text is."""
    return Strip([Segment(text, style) for text, style in pieces]).adjust_cell_length(width, Style())


def whole(lines: Sequence[Strip]) -> LayoutUpdate:
    return LayoutUpdate([[line] for line in lines], Region(0, 0, WIDTH, HEIGHT))


def painted(lines: Sequence[Strip]) -> list[list[pyte.screens.Char]]:
    """What a terminal shows that gets all of it."""
    shown = Shown()
    shown.feed(Picture().draw(whole(lines), ColorSystem.TRUECOLOR))
    return shown.cells()


SCREENS = st.lists(PIECES.map(strip_of), min_size=HEIGHT, max_size=HEIGHT)


@settings(max_examples=50, deadline=None)
@given(st.lists(SCREENS, min_size=1, max_size=4))
def test_each_frame_is_shown_whatever_was_there(frames: list[list[Strip]]) -> None:
    shown, picture = Shown(), Picture()
    for lines in frames:
        shown.feed(picture.draw(whole(lines), ColorSystem.TRUECOLOR))
        assert shown.cells() == painted(lines)
    assert picture.draw(whole(frames[-1]), ColorSystem.TRUECOLOR) == ""


@settings(max_examples=50, deadline=None)
@given(SCREENS, st.data())
def test_pieces_of_lines_are_shown_and_no_more_is_sent(lines: list[Strip], data: st.DataObject) -> None:
    """As after a widget's change: the left part of some lines, the right part of others."""
    shown, picture = Shown(), Picture()
    shown.feed(picture.draw(whole(lines), ColorSystem.TRUECOLOR))
    cut = data.draw(st.integers(1, WIDTH - 1))
    chops: list[dict[int, Strip]] = [{} for _ in lines]
    spans = []
    for y, line in enumerate(lines):
        left, right = line.crop(0, cut), line.crop(cut, WIDTH)
        match data.draw(st.sampled_from(["left", "right", "nothing"])):
            case "left":
                left = chops[y][0] = strip_of(data.draw(PIECES), cut)
                spans.append((y, 0, cut))
            case "right":
                right = strip_of(data.draw(PIECES), WIDTH - cut)
                chops[y] = {0: left, cut: right}
                spans.append((y, cut, WIDTH))
            case _:
                continue
        lines[y] = Strip.join([left, right])
    if spans:
        ends = [[cut, WIDTH] for _ in lines]
        shown.feed(picture.draw(ChopsUpdate(chops, spans, ends), ColorSystem.TRUECOLOR))
    assert shown.cells() == painted(lines)


def test_a_figure_that_changes_takes_its_digits_alone() -> None:
    """Whatever stands to its left; Textual alone sends the line up to there."""
    picture, style = Picture(), Style.parse("#d0d0d0 on #121212")
    picture.draw(whole([strip_of([("memory 64.1 GiB  87 %", style)])] * HEIGHT), ColorSystem.TRUECOLOR)
    sent = picture.draw(
        whole([strip_of([("memory 64.3 GiB  88 %", style)]), strip_of([("memory 64.1 GiB  87 %", style)])]),
        ColorSystem.TRUECOLOR,
    )
    assert sent == "\x1b[1;11H\x1b[0;38;2;208;208;208;48;2;18;18;18m3\x1b[1;19H8\x1b[39;49m\x1b[0m"


def test_after_forgetting_all_of_it_is_sent() -> None:
    """A resized terminal, a pager that had it in between."""
    lines = [strip_of([(f"line {number}", STYLES[0])]) for number in range(HEIGHT)]
    picture = Picture()
    first = picture.draw(whole(lines), ColorSystem.TRUECOLOR)
    assert picture.draw(whole(lines), ColorSystem.TRUECOLOR) == ""
    picture.forget()
    assert picture.draw(whole(lines), ColorSystem.TRUECOLOR) == first


@pytest.mark.parametrize(
    ("system", "codes"),
    [(ColorSystem.TRUECOLOR, "38;2;255;0;0"), (ColorSystem.EIGHT_BIT, "38;5;196"), (ColorSystem.STANDARD, "31")],
)
def test_colours_are_those_that_the_terminal_has(system: ColorSystem, codes: str) -> None:
    sent = Picture().draw(whole([strip_of([("a", Style.parse("#ff0000"))])] * HEIGHT), system)
    assert f"\x1b[0;{codes}ma" in sent


def test_a_link_ends_where_its_text_ends() -> None:
    link = Style(link="https://example.org")
    sent = Picture().draw(whole([strip_of([("a", link), ("b", None)])] * HEIGHT), ColorSystem.TRUECOLOR)
    assert "\x1b]8;;https://example.org\x1b\\\x1b[0ma\x1b]8;;\x1b\\b" in sent
