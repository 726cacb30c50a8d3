"""The terminal before the UI has it: what is shown, how keys are held, and that all of it is given back."""

from __future__ import annotations

import os
import pty
import re
import termios
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TextIO

import pytest

from tests.support.fake_core import story
from tui.app.layout import LayoutFile
from tui.app.opening import ENTER_SCREEN, Opening, opening
from tui.settings import Settings

LEAVE_SCREEN = "\x1b[?1049l"
TERMINAL = {"COLUMNS": "120", "LINES": "34", "COLORTERM": "truecolor", "TERM": "xterm-256color"}
DARK = "48;2;18;18;18"


class Shown:
    """A pseudo-terminal, of which one side is a person's."""

    def __init__(self) -> None:
        self._person, program = pty.openpty()
        self.program: TextIO = os.fdopen(program, "w")

    def modes(self) -> list[object]:
        return list(termios.tcgetattr(self._person))

    def read(self) -> str:
        os.set_blocking(self._person, False)
        pieces = []
        try:
            while piece := os.read(self._person, 1 << 16):
                pieces.append(piece)
        except BlockingIOError:
            pass
        return b"".join(pieces).decode()

    def close(self) -> None:
        self.program.close()
        os.close(self._person)


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Iterator[Shown]:
    for name, value in TERMINAL.items():
        monkeypatch.setenv(name, value)
    for name in ("NO_COLOR", "TEXTUAL_THEME", "COLORFGBG"):
        monkeypatch.delenv(name, raising=False)
    one = Shown()
    yield one
    one.close()


def show(one: Opening, folder: Path, settings: Settings | None = None) -> None:
    layout_file = LayoutFile(folder / "layout.json")
    one.show_first(story(folder), settings or Settings(), layout_file, read_only=False, ascii_only=False)


def test_the_first_look_stands_there_and_keys_wait(shown: Shown, tmp_path: Path) -> None:
    before = shown.modes()
    with opening(shown.program, shown.program) as one:
        show(one, tmp_path)
        text = shown.read()
        assert text.startswith(ENTER_SCREEN)
        assert "qwen36-mtp" in text
        local, characters = shown.modes()[3], shown.modes()[6]
        assert isinstance(local, int)
        assert isinstance(characters, list)
        assert not local & (termios.ECHO | termios.ICANON)
        assert local & termios.ISIG  # Ctrl-C still ends it
        assert characters[termios.VSUSP] == b"\0"
    assert shown.modes() == before
    assert shown.read() == f"{LEAVE_SCREEN}\x1b[?25h"


def test_what_the_ui_took_over_it_gives_back_itself(shown: Shown, tmp_path: Path) -> None:
    before = shown.modes()
    with opening(shown.program, shown.program) as one:
        show(one, tmp_path)
        assert one.hand_over()
        assert not one.hand_over()  # a second time, after a pager, there is nothing that it could find
        shown.read()
    assert shown.modes() == before
    assert shown.read() == ""


def test_an_error_on_the_way_leaves_the_terminal_as_it_was(shown: Shown, tmp_path: Path) -> None:
    before = shown.modes()
    with suppress(KeyboardInterrupt), opening(shown.program, shown.program) as one:
        show(one, tmp_path)
        raise KeyboardInterrupt
    assert shown.modes() == before
    assert shown.read().endswith(f"{LEAVE_SCREEN}\x1b[?25h")


@pytest.mark.parametrize(("name", "value"), [("COLUMNS", "59"), ("LINES", "15")])
def test_a_window_that_is_too_small_is_left_alone(
    name: str, value: str, shown: Shown, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    before = shown.modes()
    with opening(shown.program, shown.program) as one:
        show(one, tmp_path)
        assert shown.modes() == before
        assert not one.hand_over()
    assert shown.read() == ""


def test_a_file_is_no_terminal(shown: Shown, tmp_path: Path) -> None:
    with (tmp_path / "out").open("w") as file, opening(shown.program, file) as one:
        show(one, tmp_path)
        assert not one.hand_over()
    assert (tmp_path / "out").read_text() == ""


@pytest.mark.parametrize(
    ("theme", "ground"),
    [
        (None, "48;2;18;18;18"),
        ("sgltui-light", "48;2;255;255;255"),
        ("nord", "48;2;46;52;64"),
        ("no such theme", "48;2;18;18;18"),
    ],
)
def test_the_theme_is_the_one_that_a_person_set(theme: str | None, ground: str, shown: Shown, tmp_path: Path) -> None:
    with opening(shown.program, shown.program) as one:
        show(one, tmp_path, Settings(theme=theme))
        assert ground in shown.read()


def test_without_colour_there_are_greys_alone(shown: Shown, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    with opening(shown.program, shown.program) as one:
        show(one, tmp_path)
        colours = set(re.findall(r"[34]8;2;(\d+);(\d+);(\d+)", shown.read()))
    assert len(colours) > 3
    assert all(len(set(colour)) == 1 for colour in colours)


def test_a_broken_layout_is_the_usual_one(shown: Shown, tmp_path: Path) -> None:
    (tmp_path / "layout.json").write_text("{")
    with opening(shown.program, shown.program) as one:
        show(one, tmp_path)
        assert "RTX PRO 6000" in shown.read()
