"""From the command to the first look, and to the UI that takes over from it."""

from __future__ import annotations

import pytest

from tests.support.command_line import CommandLine
from tests.support.launches import make_ended_launch
from tests.support.terminal import in_terminal

ENTER_SCREEN, LEAVE_SCREEN = b"\x1b[?1049h", b"\x1b[?1049l"


@pytest.fixture(autouse=True)
def _launch(command_line: CommandLine) -> None:
    make_ended_launch(command_line.places, "one")


def test_the_ui_takes_over_the_screen_and_what_was_typed_before(command_line: CommandLine) -> None:
    with in_terminal(command_line.words("ui", "--read-only"), command_line.environment) as terminal:
        terminal.until("one")
        terminal.type("?")  # the UI may not be there yet
        terminal.until("Esc closes")
        terminal.type("\x1b")
        terminal.until_without("Esc closes")
        terminal.type("q")
        assert terminal.ended() == 0
        sent = terminal.raw()
    assert sent.count(ENTER_SCREEN) == 1  # to enter it again would clear it
    assert sent.count(LEAVE_SCREEN) == 1


def test_a_setting_that_cant_be_meant_is_told_on_the_screen_of_before(command_line: CommandLine) -> None:
    config = command_line.places.config
    config.mkdir(parents=True, exist_ok=True)
    (config / "config.toml").write_text('theme = "nonesuch"\n')
    with in_terminal(command_line.words("ui"), command_line.environment) as terminal:
        assert terminal.ended() == 2
        terminal.until("themes: ")
        sent = terminal.raw()
    assert sent.count(ENTER_SCREEN) == sent.count(LEAVE_SCREEN) == 1
    assert sent.index(LEAVE_SCREEN) < sent.index(b"there is no theme 'nonesuch'")
