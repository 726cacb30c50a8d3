"""The UI over a link of 30 kB/s, while the log that fills the screen grows: keys are answered, and news are new."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.command_line import CommandLine
from tests.support.growing_log import append
from tests.support.launches import make_ended_launch
from tests.support.terminal import in_terminal

SLOW = 30_000
FRAME = 5_000  # a log that fills 120x34 and scrolls


def line(number: int) -> bytes:
    """Of other characters than its neighbours, so that a scrolled screen differs in each cell."""
    return b"[2026-11-29 08:06:39 TP0] " + bytes([ord("a") + number % 26]) * 90 + b" %d\n" % number


@pytest.fixture
def log(command_line: CommandLine) -> Path:
    """Of a server whose log goes on, as it does while something of it still lives."""
    files = make_ended_launch(command_line.places, "one").files
    append(files.log, b"".join(map(line, range(500))))
    return files.log


@contextmanager
def growing(log: Path) -> Iterator[None]:
    """100 lines a second, no two the same."""
    ended = threading.Event()

    def grow() -> None:
        number = 1000
        while not ended.wait(0.1):
            append(log, b"".join(map(line, range(number, number + 10))))
            number += 10

    writer = threading.Thread(target=grow)
    writer.start()
    try:
        yield
    finally:
        ended.set()
        writer.join()


def test_a_key_is_answered_before_much_else_and_the_newest_line_is_shown(command_line: CommandLine, log: Path) -> None:
    words = command_line.words("ui", "--read-only")
    with in_terminal(words, command_line.environment, bytes_per_s=SLOW) as terminal:
        terminal.until("one")
        terminal.until("Budget")
        terminal.type("l")  # the log alone: each of its frames takes a fifth of a second on this link
        terminal.until_without("Budget")
        with growing(log):
            for _ in range(3):
                terminal.until_received(terminal.received + 2 * FRAME)  # it is in the middle of it
                before = terminal.type("?")
                after = terminal.until("Esc closes")
                # A frame may be on its way when the key comes, and one behind it; the help has its own.
                assert after - before < 5 * FRAME
                terminal.type("\x1b")
                terminal.until_without("Esc closes")
        append(log, b"[2026-11-29 08:06:39] THE-LAST-LINE\n")
        terminal.until("THE-LAST-LINE")


def test_leaving_takes_along_what_the_terminal_still_answers(command_line: CommandLine, log: Path) -> None:
    """Else the shell would get it as if somebody had typed it."""
    with in_terminal(command_line.words("ui", "--read-only"), command_line.environment, bytes_per_s=SLOW) as terminal:
        terminal.until("one")
        terminal.until("Budget")
        terminal.type("l")
        with growing(log):
            terminal.until_without("Budget")
            terminal.type("q")
            assert terminal.ended() == 0
        leaves = terminal.raw().rindex(b"\x1b[?1049l")
        assert b"\x1b[6n" not in terminal.raw()[leaves:]


def test_a_terminal_that_answers_nothing_shows_the_log_all_the_same(command_line: CommandLine, log: Path) -> None:
    words = command_line.words("ui", "--read-only")
    with in_terminal(words, command_line.environment, answers=False) as terminal:
        terminal.until("one")
        terminal.until("Budget")
        terminal.type("l")
        terminal.until_without("Budget")
        append(log, b"[2026-11-29 08:06:39] ONE-MORE\n")
        terminal.until("ONE-MORE")
        append(log, b"[2026-11-29 08:06:39] AND-ANOTHER\n")
        terminal.until("AND-ANOTHER")
        terminal.type("q")
        assert terminal.ended() == 0


@pytest.mark.parametrize("words", [("--no-mouse",), ()])
def test_the_mouse_is_left_to_the_terminal_on_request(command_line: CommandLine, words: tuple[str, ...]) -> None:
    with in_terminal(command_line.words("ui", "--read-only", *words), command_line.environment) as terminal:
        terminal.until("No servers yet")
        assert (b"\x1b[?1003h" in terminal.raw()) == (not words)


def test_the_mouse_is_left_to_the_terminal_by_a_setting(command_line: CommandLine) -> None:
    command_line.places.config.mkdir(parents=True, exist_ok=True)
    command_line.places.settings_file.write_text("mouse = false\n")
    with in_terminal(command_line.words("ui", "--read-only"), command_line.environment) as terminal:
        terminal.until("No servers yet")
        assert b"\x1b[?1003h" not in terminal.raw()
