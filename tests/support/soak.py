"""Tests that take too long for every run: `make soak` runs them, an ordinary run leaves them out."""

from __future__ import annotations

import os

import pytest

VARIABLE = "SGLTUI_TEST_SOAK"
SOAKING = os.environ.get(VARIABLE) == "1"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", f"soak: takes long; runs with {VARIABLE}=1 (`make soak`)")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if SOAKING:
        return
    left_out = [item for item in items if item.get_closest_marker("soak")]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if not item.get_closest_marker("soak")]
