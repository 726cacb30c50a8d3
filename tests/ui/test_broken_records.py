"""Records that can't be read, on the screen."""

from __future__ import annotations

import re
from pathlib import Path

from msgspec.structs import replace

from tests.support.fake_core import FakeCore, instance, story
from tests.support.screen import NARROW, running, screen_text, until_shown
from tui.app.widgets.instance_table import InstanceTable
from tui.keeper.states import State
from tui.observe import BrokenRecord, Snapshot


async def test_records_that_cannot_be_read_are_shown(tmp_path: Path) -> None:
    stopped = instance("ended", State.STOPPED, launch="20261130T000000Z-0001")
    broken = BrokenRecord("old[/]", "launch.json is empty")
    core = FakeCore(replace(story(tmp_path), instances=(stopped, *story(tmp_path).instances), broken=(broken,)))
    async with running(core) as (app, pilot):
        await until_shown(pilot, app, "broken record")
        assert re.search(r"old\[/\] +✗ broken record +- .* launch\.json is empty", screen_text(app))
        text = screen_text(app)
        assert text.index("qwen36-512") < text.index("old[/]") < text.index("ended")  # after those that failed
        await pilot.press("G", "k")
        assert app.screen.query_one(InstanceTable).selected == "old[/]"
        assert re.search(r"Log ─+\n  launch\.json is empty", screen_text(app))
        for key in ("x", "X", "l"):
            await pilot.press("escape", key)
            await until_shown(pilot, app, "the record of old[/] can't be read; it is left alone")


async def test_a_broken_record_in_a_long_list_can_be_reached(tmp_path: Path) -> None:
    many = tuple(instance(f"server-{number:02d}", State.READY) for number in range(25))
    core = FakeCore(Snapshot(story(tmp_path).gpus, many, (BrokenRecord("old", "launch.json is empty"),)))
    async with running(core, size=NARROW) as (app, pilot):
        await pilot.press("G")
        await until_shown(pilot, app, "✗ broken record")


async def test_only_broken_records_are_a_table_too(tmp_path: Path) -> None:
    core = FakeCore(Snapshot(story(tmp_path).gpus, (), (BrokenRecord("old", "launch.json is empty"),)))
    async with running(core) as (app, pilot):
        await until_shown(pilot, app, "✗ broken record")
        assert app.screen.query_one(InstanceTable).selected == "old"
