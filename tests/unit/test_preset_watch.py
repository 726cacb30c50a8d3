from __future__ import annotations

import threading
from pathlib import Path
from queue import Empty, Queue

import pytest

from tui.paths import Places
from tui.presets.watch import watch_presets

LIMIT_S = 60


class Watch:
    """A watch in a thread; `wait` until it has told of a change."""

    def __init__(self, places: Places) -> None:
        self._stop = threading.Event()
        self._told: Queue[None] = Queue()
        self._thread = threading.Thread(
            target=watch_presets, args=(places, self._stop, lambda: self._told.put(None)), daemon=True
        )
        self._thread.start()

    def wait_for(self, change: Path, text: str) -> None:
        """Write again and again until it is noticed: the watch may only be about to begin."""
        for number in range(LIMIT_S):
            change.write_text(f"{text}# {number}\n")
            try:
                return self._told.get(timeout=1)
            except Empty:
                continue
        pytest.fail("nothing was noticed")

    def end(self) -> bool:
        self._stop.set()
        self._thread.join(LIMIT_S)
        return not self._thread.is_alive()


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Places:
    (tmp_path / "shipped").mkdir()
    (tmp_path / "config").mkdir()
    monkeypatch.setattr("tui.presets.library.find_shipped_presets", lambda: tmp_path / "shipped")
    return Places(state=tmp_path / "state", config=tmp_path / "config")


def test_an_edit_is_noticed_also_in_a_folder_that_comes_up_later(places: Places) -> None:
    watch = Watch(places)
    places.user_presets.mkdir()
    watch.wait_for(places.user_presets / "a.toml", 'model = "m"')
    assert watch.end()
