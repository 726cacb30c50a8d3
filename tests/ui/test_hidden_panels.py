"""Panels that a person does without."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.fake_core import FakeCore, story
from tests.support.screen import NARROW, STORY, running, screen_text, until, until_shown
from tui.app.app import SgltuiApp
from tui.app.layout import Layout, LayoutFile


def shown(app: SgltuiApp) -> list[str]:
    return [panel.id or "" for panel in app.screen.query(".panel") if panel.display and panel.size.height]


@pytest.mark.parametrize(
    ("key", "panel", "left"),
    [
        ("1", "gpus", ["servers", "budget", "log"]),
        ("3", "log", ["gpus", "servers", "budget"]),
        ("4", "budget", ["gpus", "servers", "log"]),
    ],
)
async def test_a_panel_is_hidden_until_its_key_brings_it_back(
    tmp_path: Path, key: str, panel: str, left: list[str]
) -> None:
    file = LayoutFile(tmp_path / "screen.json")
    async with running(FakeCore(story(tmp_path)), layout_file=file) as (app, pilot):
        await until_shown(pilot, app, "qwen36-512")
        await pilot.press(key, "Z")
        await until_shown(pilot, app, f"hidden; {key} brings it back")
        assert shown(app) == left
        assert type(app.focused).__name__ == "InstanceTable"
        await pilot.press("tab", "tab", "tab")  # Tab passes it by
        assert shown(app) == left
    async with running(FakeCore(story(tmp_path)), layout_file=file) as (app, pilot):  # the next time, too
        await until_shown(pilot, app, "qwen36-512")
        assert shown(app) == left
        await pilot.press(key)
        await until(pilot, lambda: panel in shown(app), "it is back")
    assert file.read().hidden == ()


async def test_a_hidden_panel_can_be_zoomed_to_and_stays_hidden(tmp_path: Path) -> None:
    async with running(FakeCore(story(tmp_path)), layout_file=_kept(tmp_path, "log")) as (app, pilot):
        await until_shown(pilot, app, "qwen36-512")
        await pilot.press("l")
        await until(pilot, lambda: shown(app) == ["log"], "the log alone")
        await pilot.press("escape")
        await until(pilot, lambda: shown(app) == ["gpus", "servers", "budget"], "all but the log")


async def test_the_servers_stay(tmp_path: Path) -> None:
    async with running(FakeCore(story(tmp_path)), size=NARROW) as (app, pilot):
        await until_shown(pilot, app, "qwen36-512")
        await pilot.press("2", "Z")
        await until_shown(pilot, app, "the servers stay: all else is about them")
        assert "servers" in shown(app)
        await pilot.press("z", "Z")
        await until_shown(pilot, app, "one panel alone has the whole screen")


async def test_what_another_release_hides_is_shown(tmp_path: Path) -> None:
    file = _kept(tmp_path, "kitchen", "servers")
    async with running(FakeCore(story(tmp_path)), size=STORY, layout_file=file) as (app, pilot):
        await until_shown(pilot, app, "qwen36-512")
        assert shown(app) == ["gpus", "servers", "budget", "log"]
        assert "kitchen" not in screen_text(app)


def _kept(folder: Path, *places: str) -> LayoutFile:
    file = LayoutFile(folder / "screen.json")
    file.write(Layout(hidden=places))
    return file
