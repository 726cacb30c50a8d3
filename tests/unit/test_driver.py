"""What goes to the terminal of what the UI writes."""

from __future__ import annotations

import pytest
from textual.app import App
from textual.drivers.linux_driver import LinuxDriver

from tui.app.driver import FRAME_BEGINS, FRAME_ENDS, LinkedDriver
from tui.app.link import QUESTION, Link
from tui.app.picture import Picture

HOME = "\x1b[1;2H"


class LinkedApp(App[None]):
    """Knows of its terminal."""

    def __init__(self) -> None:
        super().__init__()
        self.link = Link()
        self.picture = Picture()


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
