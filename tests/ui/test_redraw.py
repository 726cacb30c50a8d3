"""A screen that something else wrote over."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.fake_core import FakeCore, story
from tests.support.screen import running, until_shown
from tui.app.picture import Picture


@pytest.mark.parametrize("where", [(), ("?",), ("a",), ("l",)], ids=["dashboard", "help", "form", "log"])
async def test_ctrl_l_paints_all_of_it_again(
    tmp_path: Path, where: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(FakeCore(story(tmp_path))) as (app, pilot):
        await until_shown(pilot, app, "qwen36-512")
        await pilot.press(*where)
        await pilot.pause()
        forgotten: list[Picture] = []
        forget = Picture.forget

        def recording(picture: Picture) -> None:
            forgotten.append(picture)
            forget(picture)

        monkeypatch.setattr(Picture, "forget", recording)
        await pilot.press("ctrl+l")
        await pilot.pause()
        assert forgotten == [app.picture]
