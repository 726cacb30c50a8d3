"""Painting a key and what follows from it together: one frame instead of two, and nothing is seen half changed."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack

from textual.screen import Screen

_LIMIT_S = 0.03  # nobody sees a key that comes so much later


class OneFrame:
    """Holds the painting of a screen back, for a moment at most.

    Textual paints at once after a pause, but then not before another one or two frames have passed.
    """

    def __init__(self, screen: Screen[None]) -> None:
        self._screen = screen
        self._batch: ExitStack | None = None
        self._limit: asyncio.TimerHandle | None = None

    def hold(self) -> None:
        """Something has begun to change."""
        if self._batch is None and self._screen.is_attached:
            self._batch = ExitStack()
            self._batch.enter_context(self._screen.app.batch_update())
            self._limit = asyncio.get_running_loop().call_later(_LIMIT_S, self.release)

    def release(self) -> None:
        """It is whole: paint it."""
        if self._batch is not None:
            self._batch.close()
            self._batch = None
            self._screen.check_idle()
        if self._limit is not None:
            self._limit.cancel()
            self._limit = None
