"""A frame made of what has changed alone shows what a whole one would, and renders little else."""

from __future__ import annotations

import random
from typing import Any

import pytest
from rich.console import RenderableType
from textual._compositor import ChopsUpdate, Compositor, LayoutUpdate
from textual.app import App, ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.geometry import Region
from textual.screen import Screen
from textual.strip import Strip

from tests.support.budgets import EXCEEDS
from tests.support.fake_core import FakeCore, gpu, instance
from tests.support.screen import WIDE, running, until, until_shown
from tui.app.composing import SparingCompositor
from tui.app.widgets.flag_list import FlagList
from tui.app.widgets.scroll_box import ScrollBox
from tui.app.widgets.text_lines import TextLines
from tui.gpu import GpuReading
from tui.keeper.states import State
from tui.observe import Snapshot

WIDTH, HEIGHT = 50, 16
LETTERS = "abcdefgh 漢é"


class Canvas:
    """What a terminal shows after all updates so far."""

    def __init__(self) -> None:
        self.lines = [[" "] * WIDTH for _ in range(HEIGHT)]

    def take(self, update: RenderableType | None) -> None:
        if isinstance(update, LayoutUpdate):
            for y, strips in enumerate(update.strips):
                self._write(y, 0, "".join(segment.text for strip in strips for segment in strip))
        elif isinstance(update, ChopsUpdate):
            for y, start, end in update.spans:
                for last, (x, strip) in zip(update.chop_ends[y], update.chops[y].items(), strict=True):
                    assert strip is not None
                    if x < end and last > start:
                        assert start <= x < last <= end, "no more than was asked for"
                        self._write(y, x, strip.text)

    def _write(self, y: int, x: int, text: str) -> None:
        cells = [cell for character in text for cell in ([character, ""] if character == "漢" else [character])]
        self.lines[y][x : x + len(cells)] = cells


class Overlapping(Screen[None]):
    """Panels beside and in each other, one that scrolls, and a box over all of them."""

    CSS = """
    Overlapping { layers: base above; }
    #left { width: 20; } #right { width: 1fr; border: solid white; } ScrollBox { height: 5; }
    #above { layer: above; width: 17; height: 4; offset: 14 3; border: heavy white; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._compositor = SparingCompositor()

    def compose(self) -> ComposeResult:
        """Five texts."""
        with Horizontal():
            with Vertical(id="left"):
                yield TextLines()
            with Vertical(id="right"):
                with ScrollBox():
                    yield TextLines(fills=False)
                yield TextLines()
        with Vertical(id="above"):
            yield TextLines()


class Canvassed(App[None]):
    """Paints on a canvas."""

    def __init__(self) -> None:
        super().__init__()
        self.canvas = Canvas()

    def get_default_screen(self) -> Screen[None]:
        """The one under test."""
        return Overlapping()

    def _display(self, screen: Screen[None], renderable: RenderableType | None) -> None:
        self.canvas.take(renderable)
        super()._display(screen, renderable)


def whole(screen: Screen[Any]) -> list[str]:
    """What Textual's own way shows."""
    return [strip.text for strip in Compositor.render_strips(screen._compositor)]


@pytest.mark.parametrize("seed", range(4))
async def test_it_shows_what_a_whole_frame_would(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - frames, no secrets
    app = Canvassed()
    async with app.run_test(size=(WIDTH, HEIGHT)) as pilot:
        texts = list(app.screen.query(TextLines))
        shown = [[""] * 12 for _ in texts]
        for _ in range(25):
            for text, lines in zip(texts, shown, strict=True):
                for _ in range(chance.choice([0, 0, 1, 2])):
                    lines[chance.randrange(12)] = "".join(chance.choices(LETTERS, k=chance.randrange(30)))
                text.show([Content(line) for line in lines])
            if chance.random() < 0.2:
                app.screen.query_one(ScrollBox).scroll_to(y=chance.randrange(8), animate=False)
            await pilot.pause()
            assert ["".join(line) for line in app.canvas.lines] == whole(app.screen)


async def test_a_key_in_the_editor_renders_the_rows_that_it_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The field is at the bottom left and the budget at the top right; the list of flags lies between them."""
    core = FakeCore(Snapshot(GpuReading((gpu(0),)), (instance("story", State.FAILED, pid=None),)))
    core.budget, core.words = EXCEEDS, ("--model-path", "m", "--mem-fraction-static", "0.8")
    rendered: list[int] = []
    render_lines = FlagList.render_lines

    def counting(self: FlagList, crop: Region) -> list[Strip]:
        rendered.append(crop.height)
        return render_lines(self, crop)

    async with running(core, size=WIDE) as (app, pilot):
        await pilot.press("R")
        await until_shown(pilot, app, "DOESN'T FIT")
        await pilot.press("enter", *"0.7")
        await until_shown(pilot, app, "+ --mem-fraction-static 0.7")
        plans = len(core.plans)
        monkeypatch.setattr(FlagList, "render_lines", counting)
        await pilot.press("5")
        await until(pilot, lambda: len(core.plans) > plans and rendered, "its budget, and a frame")
    assert max(rendered) <= 2
