"""What every test of the screen starts from."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _still_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """The plots of the GPUs don't move on while a test looks at them."""
    monkeypatch.setattr("tui.app.widgets.gpu_panel._clock", lambda: 1000.0)


@pytest.fixture(autouse=True)
def _plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """No colours, themes or links of whoever runs the tests."""
    for name in ("NO_COLOR", "TEXTUAL_THEME", "COLORFGBG", "SSH_CONNECTION"):
        monkeypatch.delenv(name, raising=False)
