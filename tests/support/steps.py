"""Holding keepers and launchers at the named points of `tui.keeper.steps`, so that faults hit them right there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.waiting import wait_until
from tui.keeper.steps import VARIABLE

_LIMIT_S = 60.0  # some steps come when a simulated server is ready


class Steps:
    """Barriers at points that are passed by processes started from now on."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def hold(self, name: str) -> None:
        """Whoever passes the point waits there."""
        (self.folder / name).touch()

    def reached(self, name: str, trouble: str = "") -> int:
        """Wait until somebody stands at the point; the pid."""
        told = self.folder / f"{name}.reached"
        wait_until(lambda: told.exists() and told.read_text(), _LIMIT_S, f"step {name} reached; {trouble}")
        return int(told.read_text())

    def release(self, name: str) -> None:
        """Let them pass, and all who come later."""
        (self.folder / name).unlink(missing_ok=True)


@pytest.fixture
def steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Steps]:
    folder = tmp_path / "steps"
    folder.mkdir()
    monkeypatch.setenv(VARIABLE, str(folder))
    yield Steps(folder)
    for barrier in folder.iterdir():
        barrier.unlink()
