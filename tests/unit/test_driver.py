"""What goes to the terminal of what the UI writes."""

from __future__ import annotations

import os
import threading
from collections.abc import AsyncIterator
from queue import SimpleQueue

import pytest
from textual import constants, events
from textual.app import App
from textual.drivers.linux_driver import LinuxDriver
from textual.message import Message

from tui.app.driver import FRAME_BEGINS, FRAME_ENDS, LinkedDriver
from tui.app.link import QUESTION, Link
from tui.app.opening import Opening
from tui.app.picture import Picture

HOME = "\x1b[1;2H"


class LinkedApp(App[None]):
    """Knows of its terminal."""

    def __init__(self) -> None:
        super().__init__()
        self.link = Link()
        self.picture = Picture()
        self.opening: Opening | None = None


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    sent: list[str] = []
    monkeypatch.setattr(LinuxDriver, "write", lambda _, data: sent.append(data))
    return sent


def frame(driver: LinkedDriver, painted: str) -> None:
    """As Textual writes one."""
    for data in (FRAME_BEGINS, painted + HOME, FRAME_ENDS):
        driver.write(data)


async def test_a_frame_in_which_nothing_is_painted_is_not_sent(written: list[str]) -> None:
    driver = LinkedDriver(LinkedApp())
    frame(driver, "\x1b[3;4Hsome")
    assert "".join(written) == f"{FRAME_BEGINS}\x1b[3;4Hsome{HOME}{FRAME_ENDS}"
    written.clear()
    frame(driver, "")
    frame(driver, "")
    assert written == []
    frame(driver, "\x1b[5;6Hmore")
    assert "".join(written) == f"{FRAME_BEGINS}\x1b[5;6Hmore{HOME}{FRAME_ENDS}"


async def test_a_moved_cursor_is_sent(written: list[str]) -> None:
    driver = LinkedDriver(LinkedApp())
    frame(driver, "some")
    written.clear()
    for data in (FRAME_BEGINS, "\x1b[9;9H", FRAME_ENDS):
        driver.write(data)
    assert "".join(written) == f"{FRAME_BEGINS}\x1b[9;9H{FRAME_ENDS}"


async def test_without_frames_all_is_sent_as_it_comes(written: list[str]) -> None:
    """A terminal that doesn't know them."""
    driver = LinkedDriver(LinkedApp())
    driver.write(f"some{HOME}")
    driver.write(HOME)
    driver.write("\x07")
    assert written == [f"some{HOME}", "\x07"]


async def test_a_question_goes_behind_a_large_frame_alone(written: list[str]) -> None:
    app = LinkedApp()
    driver = LinkedDriver(app)
    frame(driver, "some" * 10)
    assert QUESTION not in "".join(written)
    frame(driver, "more" * 1000)
    assert written[-2].endswith(HOME + QUESTION)
    assert app.link.is_asked
    frame(driver, "much" * 1000)
    assert "".join(written).count(QUESTION) == 1


class Typist:
    """Types into a pipe that a driver reads."""

    def __init__(self, driver: LinkedDriver) -> None:
        self.driver = driver
        self.heard: SimpleQueue[Message] = SimpleQueue()
        driver.process_message = self._hear  # type: ignore[method-assign]
        driver.fileno, self.pipe = os.pipe()
        self._reader = threading.Thread(target=driver.run_input_thread)
        self._reader.start()

    def _hear(self, message: Message) -> None:
        self.heard.put(message)

    def type(self, data: bytes) -> None:
        os.write(self.pipe, data)

    def key(self) -> str:
        message = self.heard.get(timeout=30)
        assert isinstance(message, events.Key)
        return message.key

    def hang_up(self) -> None:
        os.close(self.pipe)

    def end(self) -> None:
        self.driver.exit_event.set()
        self._reader.join()
        os.close(self.driver.fileno)


@pytest.fixture
async def typist() -> AsyncIterator[Typist]:
    one = Typist(LinkedDriver(LinkedApp()))
    yield one
    one.end()


async def test_keys_that_begin_with_escape_and_escape_itself(typist: Typist) -> None:
    for data, key in ((b"\x1b", "escape"), (b"\x1b[B", "down"), (b"j", "j"), (b"\x1b[1;5C", "ctrl+right")):
        typist.type(data)
        assert typist.key() == key
    typist.hang_up()


async def test_what_is_no_text_ends_no_keyboard(typist: Typist) -> None:
    typist.type(b"\xff\xfe")
    typist.type(b"q")
    assert "q" in (typist.key(), typist.key(), typist.key())
    typist.hang_up()


async def test_a_terminal_that_is_gone_is_waited_for_and_not_asked_without_end(
    typist: Typist, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited = threading.Event()
    monkeypatch.setattr(typist.driver.exit_event, "wait", lambda _: waited.set())
    typist.hang_up()
    assert waited.wait(30)


async def test_escape_waits_a_moment_or_as_long_as_a_person_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "ESCAPE_DELAY", 0.3)
    monkeypatch.setenv("ESCDELAY", "300")
    LinkedDriver(LinkedApp())
    assert constants.ESCAPE_DELAY == 0.3
    monkeypatch.delenv("ESCDELAY")
    app = LinkedApp()
    LinkedDriver(app)
    assert constants.ESCAPE_DELAY == 0.025
    app.link = Link(is_remote=True)
    LinkedDriver(app)
    assert constants.ESCAPE_DELAY == 0.05
