"""Waiting for a condition instead of sleeping for a while."""

from __future__ import annotations

import time
from collections.abc import Callable

_STEP_S = 0.02


def wait_until(condition: Callable[[], object], timeout_s: float = 60.0, what: str = "") -> None:
    """Poll until `condition()` is true; fail with `what` when it never is.

    The limit only bounds a failing test: nothing is asserted about how long it took.
    """
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {timeout_s} s: {what or condition}")
        time.sleep(_STEP_S)
