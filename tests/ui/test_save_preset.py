"""Saving a launch as a preset: what would be written is shown first, and nothing is written before a second Enter."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.widgets import Input

from tests.support.fake_core import FakeCore, instance, preset
from tests.support.launches import make_launch
from tests.support.screen import NARROW, STORY, running, screen_text, until, until_shown
from tui.app.screens.dashboard import Dashboard
from tui.app.screens.save_preset import SavePresetScreen
from tui.errors import UsageError
from tui.gpu import GpuReading
from tui.keeper.states import State
from tui.launch.preset_saving import PresetDraft
from tui.launch.proving import Proven
from tui.launch.records import read_launch
from tui.observe import Snapshot
from tui.paths import Places
from tui.presets.store import draft


def core_with(tmp_path: Path, before: str | None = None) -> FakeCore:
    """One ready server, whose preset is to go into a folder of this test."""
    places = Places(tmp_path / "state", tmp_path / "config")
    if before is not None:
        places.user_presets.mkdir(parents=True)
        (places.user_presets / "mine.toml").write_text(before)
    core = FakeCore(Snapshot(GpuReading(), (instance("story", State.READY, preset=None),)))
    proven = Proven(preset("mine", evidence=None), ("no request was made of it yet",))
    recorded = read_launch(make_launch(places, "story").files.directory)
    core.draft = PresetDraft(recorded, proven, draft(places, proven.preset))
    return core


@pytest.mark.parametrize("size", [NARROW, STORY])
async def test_a_new_preset_is_shown_whole_then_saved(tmp_path: Path, size: tuple[int, int]) -> None:
    core = core_with(tmp_path)
    async with running(core, size=size) as (app, pilot):
        await pilot.press("s")
        await until_shown(pilot, app, "Save story as a preset")
        assert app.screen.query_one(Input).value == "story"
        await pilot.press(*"mine", "enter")
        await until_shown(pilot, app, "would be written")
        assert core.drafts == [("story/20261129T171001Z-0007", "mine")]
        assert "no request was made of it yet" in screen_text(app)
        assert 'model = "Qwen/Qwen3.6-27B"' in screen_text(app)
        assert core.saved == []
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, Dashboard), "the dashboard")
        assert core.saved == [core.draft]
        await until_shown(pilot, app, "saved as")


async def test_over_an_earlier_version_the_difference_is_shown_and_that_it_is_kept(tmp_path: Path) -> None:
    core = core_with(tmp_path, 'model = "Qwen/Qwen3-8B"\n')
    async with running(core) as (app, pilot):
        await pilot.press("s")
        await until_shown(pilot, app, "Save story as a preset")
        await pilot.press("enter")
        await until_shown(pilot, app, "the earlier version is kept beside it")
        assert '-model = "Qwen/Qwen3-8B"' in screen_text(app)
        assert '+model = "Qwen/Qwen3.6-27B"' in screen_text(app)
        await pilot.press("enter")
        await until_shown(pilot, app, "the earlier version is mine.toml.~1~")


async def test_another_name_is_another_file_and_a_refusal_leaves_what_was_typed(tmp_path: Path) -> None:
    core = core_with(tmp_path)
    async with running(core) as (app, pilot):
        await pilot.press("s")
        await until_shown(pilot, app, "Save story as a preset")
        await pilot.press("enter")
        await until_shown(pilot, app, "would be written")
        core.refusal = UsageError("'a/b' can't be a preset's name", "use letters")
        await pilot.press(*"a/b")
        await until(pilot, lambda: "would be written" not in screen_text(app), "the old draft goes")
        await pilot.press("enter")
        await until_shown(pilot, app, "✗ 'a/b' can't be a preset's name")
        assert app.screen.query_one(Input).value.endswith("a/b")
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, Dashboard), "the dashboard")
        assert core.saved == []


async def test_read_only_saves_nothing(tmp_path: Path) -> None:
    async with running(core_with(tmp_path), read_only=True) as (app, pilot):
        await pilot.press("s")
        await until_shown(pilot, app, "read-only: nothing is changed")
        assert not isinstance(app.screen, SavePresetScreen)
