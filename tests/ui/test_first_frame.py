"""What is painted before there is a screen is what the screen shows then, cell by cell."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace
from rich.segment import Segment
from textual.strip import Strip

from tests.support.fake_core import FakeCore, gpu, story
from tests.support.screen import NARROW, STORY, WIDE, running
from tui.app.app import SgltuiApp
from tui.app.first_frame import Frame, draw
from tui.app.glyphs import ASCII, UNICODE
from tui.app.layout import LayoutFile
from tui.app.screens.sizes import limit_percent
from tui.gpu import GpuProblem, GpuReading
from tui.observe import Snapshot

EIGHT = GpuReading(tuple(gpu(index, []) for index in range(8)), "580.159")
DRIVERLESS = GpuReading(problem=GpuProblem("no NVIDIA driver found", "install the driver, or try `sgltui demo`"))


def cells(row: Strip) -> list[tuple[str, str, str]]:
    """Characters, with their colours and whether they are bold; a blank has no foreground that is seen."""
    found = []
    for text, style, _ in map(Segment._make, row):
        assert style is not None
        front = f"{style.color} {bool(style.bold)}"
        found += [(character, "" if character == " " else front, f"{style.bgcolor}") for character in text]
    return found


async def shown(snapshot: Snapshot, frame: Frame, layout_file: LayoutFile | None) -> tuple[list[Strip], dict[str, str]]:
    """The rows of the app down to the end of the servers, and its colours."""

    def paint(app: SgltuiApp) -> None:
        app.theme = frame.colors["theme"]

    async with running(
        FakeCore(snapshot),
        size=frame.size,
        ascii_only=frame.glyphs.ascii_only,
        read_only=frame.read_only,
        layout_file=layout_file,
        before=paint,
    ) as (app, _):
        rows = app.screen._compositor.render_strips()
        return rows[: app.screen.query_one("#servers").region.bottom], dict(app.theme_variables)


async def same(snapshot: Snapshot, frame: Frame, layout_file: LayoutFile | None = None) -> int:
    """How many rows were compared."""
    rows, colors = await shown(snapshot, frame, layout_file)
    drawn = draw(snapshot, replace(frame, colors=colors))
    assert len(drawn) == frame.size[1]
    for early, late in zip(drawn, rows, strict=False):
        assert cells(early) == cells(late)
    return len(rows)


def frame(theme: str = "sgltui-dark", **changes: object) -> Frame:
    usual = Frame(STORY, {"theme": theme}, UNICODE, "gpu-box-7", False, limit_percent("gpus", 0), 40.0)
    return replace(usual, **changes)


@pytest.mark.parametrize("size", [NARROW, STORY, WIDE])
async def test_the_story_at_every_size(size: tuple[int, int], tmp_path: Path) -> None:
    assert await same(story(tmp_path), frame(size=size)) > 8


@pytest.mark.parametrize("theme", ["sgltui-light", "ansi-dark", "nord"])
async def test_in_every_kind_of_theme(theme: str, tmp_path: Path) -> None:
    await same(story(tmp_path), frame(theme))


async def test_in_ascii_and_read_only(tmp_path: Path) -> None:
    await same(story(tmp_path), frame(glyphs=ASCII, read_only=True))


@pytest.mark.parametrize("size", [NARROW, WIDE])
async def test_many_gpus_which_may_be_folded(size: tuple[int, int], tmp_path: Path) -> None:
    await same(replace(story(tmp_path), gpus=EIGHT), frame(size=size))


async def test_no_driver(tmp_path: Path) -> None:
    await same(replace(story(tmp_path), gpus=DRIVERLESS), frame())


async def test_more_servers_than_there_is_room_for(tmp_path: Path) -> None:
    snapshot = story(tmp_path)
    many = tuple(replace(snapshot.instances[0], name=f"server-{number:02}") for number in range(30))
    rows, colors = await shown(replace(snapshot, instances=many), frame(), None)
    drawn = draw(replace(snapshot, instances=many), replace(frame(), colors=colors))
    texts = [[row.text.rstrip(" ▁▂▃▄▅▆▇█") for row in some[: len(rows)]] for some in (drawn, rows)]
    assert texts[0] == texts[1]
    assert not drawn[len(rows)].text.strip()


async def test_as_a_person_arranged_it(tmp_path: Path) -> None:
    file = LayoutFile(tmp_path / "layout.json")
    file.write(replace(file.read(), hidden=("gpus",), sizes={"servers": 1}))
    rows = await same(story(tmp_path), frame(gpus_percent=None, servers_percent=limit_percent("servers", 1)), file)
    assert rows == 1 + 1 + 1 + 3  # title, edge, headers, servers
