"""What every test of the screen starts from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet


@pytest.fixture(autouse=True, scope="session")
def _parsed_once() -> Iterator[None]:
    """A style sheet is parsed once for all tests, not twice for each: the same text comes to the same rules."""
    parse, parsed = Stylesheet._parse_rules, dict[object, list[RuleSet]]()

    def parse_once(sheet: Stylesheet, css: str, **where: Any) -> list[RuleSet]:
        key = css, frozenset(where.items()), frozenset(sheet._variables.items())
        if key not in parsed:
            parsed[key] = parse(sheet, css, **where)
        return parsed[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Stylesheet, "_parse_rules", parse_once)
        yield


@pytest.fixture(autouse=True)
def _still_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """The plots of the GPUs don't move on while a test looks at them."""
    monkeypatch.setattr("tui.app.widgets.gpu_panel._clock", lambda: 1000.0)


@pytest.fixture(autouse=True)
def _plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """No colours, themes or links of whoever runs the tests."""
    for name in ("NO_COLOR", "TEXTUAL_THEME", "COLORFGBG", "SSH_CONNECTION"):
        monkeypatch.delenv(name, raising=False)
