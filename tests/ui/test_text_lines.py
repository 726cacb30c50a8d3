"""Lines that are painted one by one: what reads the same isn't painted again, and moves nothing."""

from __future__ import annotations

import pytest
from rich.style import Style as RichStyle
from textual.app import App, ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.geometry import Offset, Region
from textual.selection import Selection
from textual.widget import Widget

from tui.app.widgets.text_lines import TextLines
from tui.app.widgets.value_input import ValueInput


class Lines(App[None]):
    """Lines in a box of ten rows, above a field."""

    CSS = "VerticalScroll { height: 10; } ValueInput { height: 1; border: none; }"

    def __init__(self) -> None:
        super().__init__()
        self.typed: list[str] = []

    def compose(self) -> ComposeResult:
        """The box, and the field."""
        with VerticalScroll(can_focus=False):
            yield TextLines()
        yield ValueInput(lambda: self.typed.append("key"), (), id="field")


def texts(*lines: str) -> list[Content]:
    return [Content(line) for line in lines]


async def test_only_what_reads_differently_is_painted_and_nothing_is_laid_out(monkeypatch: pytest.MonkeyPatch) -> None:
    async with Lines().run_test(size=(40, 20)) as pilot:
        lines = pilot.app.query_one(TextLines)
        lines.show(texts("one", "two", "three"))
        await pilot.pause()
        assert lines.size.height == 10, "it fills its box"
        painted: list[tuple[tuple[Region, ...], bool]] = []
        refresh = lines.refresh

        def watch(*regions: Region, layout: bool = False, **more: bool) -> TextLines:
            painted.append((regions, layout))
            refresh(*regions, layout=layout, **more)
            return lines

        monkeypatch.setattr(lines, "refresh", watch)
        lines.show(texts("one", "2", "three", "four"))
        lines.show(texts("one", "2", "three", "four"))
        assert painted == [((Region(0, 1, 40, 1), Region(0, 3, 40, 1)), False)]
        await pilot.pause()
        shown = ["".join(segment.text for segment in lines.render_line(y)).rstrip() for y in range(5)]
        assert shown == ["one", "2", "three", "four", ""]
        painted.clear()
        lines.show(texts(*map(str, range(15))))
        assert painted == [((), True)], "more lines than there is room for"
        await pilot.pause()
        assert lines.size.height == 15
        lines.show(texts("one"))
        await pilot.pause()
        assert lines.size.height == 10


def painted(lines: TextLines, height: int) -> list[list[tuple[str, str]]]:
    """Rows as they go to the terminal, each character with its look."""
    strips = lines.render_lines(Region(0, 0, lines.size.width, height))
    return [[(sign, _look(piece.style)) for piece in strip for sign in piece.text] for strip in strips]


def as_textual_would(lines: TextLines, height: int) -> list[list[tuple[str, str]]]:
    """The same by Textual's own way, with its filters."""
    strips = Widget.render_lines(lines, Region(0, 0, lines.size.width, height))
    return [[(sign, _look(piece.style)) for piece in strip for sign in piece.text] for strip in strips]


def _look(style: RichStyle | None) -> str:
    return "" if style is None else str(style.without_color) + str(style.color) + str(style.bgcolor)


async def test_rows_are_painted_as_textual_paints_them_but_for_the_places_that_only_the_mouse_asks_for() -> None:
    app = Lines()
    async with app.run_test(size=(40, 20)) as pilot:
        lines = app.query_one(TextLines)
        shown = [
            Content("plain"),
            Content(),
            Content.assemble(("A", "bold $text on $error"), " b ", ("c", "italic"), ("", "bold"), ("d", "$primary")),
            Content.styled("over it all", "$success").stylize("bold", 0, 4).stylize("underline", 2, 8),
            Content.styled("幅が広い文字", "reverse $warning"),
            Content("as wide as there is room for it, not " + "one"),
        ]
        lines.show(shown)
        await pilot.pause()
        assert painted(lines, 10) == as_textual_would(lines, 10)
        lines.show([shown[2], *shown[1:]])
        assert painted(lines, 10) == as_textual_would(lines, 10), "one row is another"
        before = painted(lines, 10)
        app.theme = "textual-light"
        await pilot.pause()
        assert painted(lines, 10) != before, "other colours"
        assert painted(lines, 10) == as_textual_would(lines, 10)
        await pilot.resize_terminal(60, 20)
        await pilot.pause()
        assert painted(lines, 10) == as_textual_would(lines, 10), "another width"
        assert all(len(row) in (54, 60) for row in painted(lines, 10)), "characters of two cells are fewer"


async def test_lines_that_dont_fill_their_box_are_as_high_as_they_are() -> None:
    class Short(Lines):
        CSS = "VerticalScroll { height: auto; max-height: 10; } ValueInput { height: 1; border: none; }"

        def compose(self) -> ComposeResult:
            with VerticalScroll(can_focus=False):
                yield TextLines(fills=False)

    async with Short().run_test(size=(40, 20)) as pilot:
        lines = pilot.app.query_one(TextLines)
        for count in (3, 1, 12, 2):
            lines.show(texts(*map(str, range(count))))
            await pilot.pause()
            assert lines.size.height == count
            assert pilot.app.query_one(VerticalScroll).size.height == min(count, 10)


async def test_words_can_be_selected_line_by_line() -> None:
    async with Lines().run_test(size=(40, 20)) as pilot:
        lines = pilot.app.query_one(TextLines)
        lines.show(texts("the first line", "the second"))
        await pilot.pause()
        assert lines.get_selection(Selection(Offset(4, 0), Offset(3, 1))) == ("first line\nthe", "\n")
        pilot.app.screen.selections = {lines: Selection(Offset(4, 0), Offset(9, 0))}
        await pilot.pause()
        assert painted(lines, 2) == as_textual_would(lines, 2)
        marked = [segment.text for segment in lines.render_line(0) if segment.text.strip()]
        assert "first" in marked


async def test_a_key_in_the_field_lays_nothing_out() -> None:
    app = Lines()
    async with app.run_test(size=(40, 20)) as pilot:
        field = app.query_one(ValueInput)
        field.focus()
        await pilot.pause()
        layouts: list[object] = []
        app.screen.screen_layout_refresh_signal.subscribe(app.screen, layouts.append)
        await pilot.press(*"abc", "backspace")
        assert field.value == "ab"
        assert app.typed == ["key"] * 4
        assert layouts == []
