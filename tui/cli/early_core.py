"""The core that the UI starts with: it looks at the machine, and fetches the rest of the product when asked for it.

To plan, explain and launch takes several times as long to import as to look, and a person waits for the screen.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import TYPE_CHECKING, Any

from tui.cli.context import Context
from tui.observe import Observer, Snapshot

if TYPE_CHECKING:
    from tui.cli.core import LocalCore

_PRESETS_AFTER_S = 1.0  # who opens the form earlier reads them fresh


class EarlyCore:
    """A `tui.app.core.Core` of this machine, or of a simulated one.

    Args:
        context: where records are, and how GPUs are read.
        adopts: give servers whose keeper died a new one, on sight.
    """

    def __init__(self, context: Context, *, adopts: bool = False) -> None:
        self._context = context
        self._adopts = adopts
        self._observer = Observer(context.places, context.reader, live_wait_s=0.0)
        self._lock = threading.Lock()
        self._core: LocalCore | None = None
        self._ahead: Future[Snapshot] | None = Future()
        threading.Thread(target=self._look_ahead, args=(self._ahead,), name="first look", daemon=True).start()

    @property
    def grace_s(self) -> float:
        """How long a stop lets requests run."""
        return self._context.settings.grace_s

    def first_look(self, limit_s: float) -> Snapshot | None:
        """What the first look saw, which `snapshot` brings, too; None when it failed or takes longer than this."""
        ahead = self._ahead
        try:
            return ahead.result(limit_s) if ahead is not None else None
        except Exception:  # noqa: BLE001 - `snapshot` raises it, to somebody who can say it
            return None

    def snapshot(self) -> Snapshot:
        """Look at the machine now; the first look was begun when the core was made, beside the imports of the UI."""
        ahead, self._ahead = self._ahead, None
        snapshot = self._observer.observe() if ahead is None else ahead.result()
        if self._adopts and any(one.is_unattended for one in snapshot.instances):
            self._whole().attend(snapshot)
        return snapshot

    def _look_ahead(self, ahead: Future[Snapshot]) -> None:
        try:
            ahead.set_result(self._observer.observe())
        except Exception as error:  # noqa: BLE001 - whoever asks for the look gets it
            ahead.set_exception(error)

    def watch_presets(self, stop: threading.Event, changed: Callable[[], object]) -> None:
        """Call `changed` after each change of a preset until `stop` is set."""
        if not stop.wait(_PRESETS_AFTER_S):
            self._whole().watch_presets(stop, changed)

    def close(self) -> None:
        """Let go of the GPU driver; servers go on running."""
        self._context.reader.close()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """All else is the whole core's, fetched by the thread that calls it and not by the one that looks it up."""
        return partial(self._call, name)

    def _call(self, name: str, *arguments: Any, **options: Any) -> Any:
        return getattr(self._whole(), name)(*arguments, **options)

    def _whole(self) -> LocalCore:
        with self._lock:
            if self._core is None:
                from tui.cli.core import LocalCore  # noqa: PLC0415 - see above

                self._core = LocalCore(self._context, adopts=self._adopts, observer=self._observer)
            return self._core
