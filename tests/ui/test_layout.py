"""How a person arranges the screen is kept; what can't be read or written is said once and does no harm."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from textual.pilot import Pilot

from tests.support.fake_core import FakeCore, story
from tests.support.screen import NARROW, STORY, running, screen_text, until, until_shown
from tui.app.app import SgltuiApp
from tui.app.layout import Layout, LayoutFile
from tui.app.preferences import Preferences
from tui.app.screens.dashboard import Dashboard
from tui.app.screens.sizes import LARGEST
from tui.app.widgets.log_panel import LogPanel
from tui.errors import SgltuiError


def file_in(folder: Path) -> Path:
    return folder / "state" / "screen.json"


def dashboard(app: SgltuiApp) -> Dashboard:
    assert isinstance(app.screen, Dashboard)
    return app.screen


def heights(app: SgltuiApp) -> dict[str, int]:
    return {panel.id or "": panel.size.height for panel in app.screen.query(".panel") if panel.display}


async def kept(pilot: Pilot[None], path: Path, **values: object) -> None:
    """Wait until these stand in the file."""

    def stands() -> bool:
        text = path.read_text() if path.exists() else ""
        return text.startswith("{") and values.items() <= json.loads(text).items()

    await until(pilot, stands, f"{values} in the file")


def test_what_is_written_is_read(tmp_path: Path) -> None:
    file = LayoutFile(file_in(tmp_path))
    assert file.read() == Layout()
    layout = Layout(theme="nord", in_front="log", sizes={"log": 2, "gpus": -1}, wrap=True, hide_batch=True)
    file.write(layout)
    assert file.read() == layout
    assert file_in(tmp_path).stat().st_mode & 0o777 == 0o600
    assert [path.name for path in file_in(tmp_path).parent.iterdir()] == ["screen.json"]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x00" * 40,
        b"{",
        b"[]",
        b'"text"',
        b'{"sizes": {"log": 900}}',
        b'{"wrap": "yes"}',
        b'{"in_front": "kitchen"}',
        b"\xff\xfe{}",
        b"[" * 60_000,
        b" " * 70_000 + b"{}",
    ],
)
def test_foreign_content_is_refused_in_words(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "screen.json"
    path.write_bytes(content)
    with pytest.raises(SgltuiError) as caught:
        LayoutFile(path).read()
    assert str(path) in str(caught.value)


def test_what_a_later_release_keeps_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "screen.json"
    path.write_text('{"wrap": true, "columns": ["name"]}')
    assert LayoutFile(path).read() == Layout(wrap=True)


async def test_the_next_run_looks_as_the_last_one_was_left(tmp_path: Path) -> None:
    path = file_in(tmp_path)
    async with running(FakeCore(story(tmp_path)), layout_file=LayoutFile(path), size=NARROW) as (app, pilot):
        await until_shown(pilot, app, "● ready")
        await pilot.press("3", "w", "B", "plus")
        app.theme = "sgltui-light"
        await kept(pilot, path, in_front="log", wrap=True, hide_batch=True, sizes={"log": 1}, theme="sgltui-light")
        await pilot.press("z")  # a zoom isn't kept
    async with running(FakeCore(story(tmp_path)), layout_file=LayoutFile(path), size=NARROW) as (app, pilot):
        await until_shown(pilot, app, "Log ▸")
        assert app.theme == "sgltui-light"
        assert dashboard(app).in_front == "log"
        assert dashboard(app).sizes == {"log": 1}
        assert dashboard(app).zoomed is None
        assert app.screen.query_one(LogPanel).log_view.wrapped


async def test_what_was_hidden_in_a_log_is_hidden_in_the_next_one(tmp_path: Path) -> None:
    path = file_in(tmp_path)
    LayoutFile(path).write(Layout(hide_access=True))
    snapshot = story(tmp_path)
    for one in snapshot.instances:
        access = '[2026-11-29 17:31:03] INFO:     127.0.0.1:1 - "GET /health HTTP/1.1" 200 OK\n'
        one.log_path.write_text(f"{access}{one.name} says something\n")
    async with running(FakeCore(snapshot), layout_file=LayoutFile(path)) as (app, pilot):
        for name in ("llama8b", "qwen36-mtp"):
            await until_shown(pilot, app, f"{name} says something")
            await until(pilot, lambda: "GET /health" not in screen_text(app), "no access lines")
            await pilot.press("j")
        await pilot.press("3", "A")
        await until_shown(pilot, app, "GET /health")
        await kept(pilot, path, hide_access=False)


async def test_nothing_is_written_until_something_is_arranged(tmp_path: Path) -> None:
    path = file_in(tmp_path)
    async with running(FakeCore(story(tmp_path)), layout_file=LayoutFile(path)) as (app, pilot):
        await until_shown(pilot, app, "● ready")
        await pilot.press("j", "2", "z", "z", "l", "escape")
    assert not path.exists()


async def test_a_file_that_cant_be_used_is_said_and_replaced(tmp_path: Path) -> None:
    path = tmp_path / "screen.json"
    path.write_text("no JSON")
    async with running(FakeCore(story(tmp_path)), layout_file=LayoutFile(path)) as (app, pilot):
        await until_shown(pilot, app, "✗ how the screen was arranged can't be read")
        await pilot.press("3", "w")
        await kept(pilot, path, wrap=True)


async def test_a_folder_that_cant_be_written_is_said_once(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file where the folder should be")
    async with running(FakeCore(story(tmp_path)), layout_file=LayoutFile(file_in(tmp_path))) as (app, pilot):
        await until_shown(pilot, app, "✗ how the screen was arranged can't be read")
        await pilot.press("escape", "3", "w")
        await until_shown(pilot, app, "✗ how the screen is arranged can't be kept")
        await pilot.press("escape", "w")
        await until(pilot, lambda: not app.screen.query_one(LogPanel).log_view.wrapped, "wrapped no more")
        assert "can't be kept" not in screen_text(app)


@pytest.mark.parametrize(("key", "panel"), [("3", "log"), ("4", "budget")])
async def test_panels_grow_and_shrink(tmp_path: Path, key: str, panel: str) -> None:
    async with running(FakeCore(story(tmp_path)), size=(120, 60)) as (app, pilot):
        await until_shown(pilot, app, "● ready")
        usual = heights(app)
        await pilot.press(key, "plus")
        await until(pilot, lambda: heights(app)[panel] > usual[panel], "larger")
        await pilot.press("minus", "minus")
        await until(pilot, lambda: heights(app)[panel] < usual[panel], "smaller")
        await pilot.press("plus")
        await until(pilot, lambda: heights(app) == usual, "as usual")
        await pilot.press(*["plus"] * (LARGEST + 1))
        await until_shown(pilot, app, "that is as large as it gets")


async def test_a_table_too_long_for_its_place_can_have_more_of_the_screen(tmp_path: Path) -> None:
    async with running(FakeCore(story(tmp_path)), size=STORY) as (app, pilot):
        await until_shown(pilot, app, "● ready")
        await pilot.press("2", "minus", "minus", "minus")
        await until(pilot, lambda: heights(app)["servers"] <= 4, "small")
        await pilot.press("z")
        await until(pilot, lambda: heights(app)["servers"] > 20, "a zoom is the whole screen all the same")


async def test_a_theme_from_the_settings_comes_before_the_one_that_was_chosen(tmp_path: Path) -> None:
    path = file_in(tmp_path)
    LayoutFile(path).write(Layout(theme="nord"))
    wish = Preferences(theme="ansi-dark")
    async with running(FakeCore(story(tmp_path)), layout_file=LayoutFile(path), preferences=wish) as (app, pilot):
        assert app.theme == "ansi-dark"
        app.theme = "sgltui-light"
        await until_shown(pilot, app, "the settings say theme = 'ansi-dark'")
    async with running(FakeCore(story(tmp_path)), layout_file=LayoutFile(path)) as (app, _):
        assert app.theme == "sgltui-light"
