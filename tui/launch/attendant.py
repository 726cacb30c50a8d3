"""Adopting what is seen unattended, in the background: for a front end that stays open."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from contextlib import suppress

from tui.errors import SgltuiError
from tui.launch.adopt import adopt_launch
from tui.paths import Places


class Attendant:
    """Gives servers a new keeper, each launch once: what can't be adopted stays on the screen as not attended.

    Args:
        places: whose records.
        adopt: how it is done.
    """

    def __init__(self, places: Places, adopt: Callable[[Places, str], object] = adopt_launch) -> None:
        self._places = places
        self._adopt = adopt
        self._tried: set[str] = set()

    def attend(self, addresses: Iterable[str]) -> None:
        """Adopt these launches, as `NAME/LAUNCH`; returns at once."""
        new = [address for address in addresses if address not in self._tried]
        self._tried.update(new)
        if new:
            threading.Thread(target=self._adopt_all, args=(new,), name="adopt", daemon=True).start()

    def _adopt_all(self, addresses: Iterable[str]) -> None:
        for address in addresses:
            # Its state goes on being shown as not attended, and `sgltui adopt` tells the reason.
            with suppress(SgltuiError, OSError):
                self._adopt(self._places, address)
