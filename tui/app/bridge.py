"""The only place where threads meet the event loop: one sampler, and one short-lived thread an action.

Both are daemon threads of our own. Threads of an executor (what Textual's thread workers use) are waited for
when the loop closes, so a driver that hangs, or a stop that drains for minutes, would keep the shell prompt
away after `q`.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from textual.message import Message

from tui.app.messages import SnapshotFailed, SnapshotTaken
from tui.app.notices import Trouble, trouble_of
from tui.observe import Snapshot

PERIOD_S = 1.0
_JOIN_S = 1.0
_STALLED_AFTER_S = 5.0

T = TypeVar("T")


class Sampler:
    """Looks at the machine about once a second, or at once when asked, and posts only what differs from the last time.

    Args:
        look: may block, may raise.
        post: thread-safe; takes one message.

    Attributes:
        period_s: seconds between two looks.
    """

    def __init__(self, look: Callable[[], Snapshot], post: Callable[[Message], object]) -> None:
        self._look = look
        self._post = post
        self.period_s = PERIOD_S
        self._wanted = threading.Event()
        self._ended = threading.Event()
        self._looking_since: float | None = None
        self._looked = threading.Condition()
        self._begun = 0.0  # when the newest look that has come back was begun
        self._newest: Snapshot | None = None
        self._thread = threading.Thread(target=self._run, name="gpu-sampler", daemon=True)

    def start(self) -> None:
        """Start looking."""
        self._thread.start()

    def look_now(self) -> None:
        """Don't wait for the next second."""
        self._wanted.set()

    def look_fresh(self, limit_s: float) -> Snapshot | None:
        """What a look sees that begins now; after `limit_s` the newest snapshot there is, if any."""
        asked = time.monotonic()
        self.look_now()
        return self._newest_since(asked, limit_s)

    def look_first(self, limit_s: float) -> Snapshot | None:
        """What the first look saw; None when it failed, or isn't back after `limit_s`."""
        return self._newest_since(0.0, limit_s)

    def _newest_since(self, moment: float, limit_s: float) -> Snapshot | None:
        with self._looked:
            self._looked.wait_for(lambda: self._begun > moment, limit_s)
            return self._newest

    @property
    def is_stalled(self) -> bool:
        """The look under way takes so long that the reader must hang."""
        since = self._looking_since
        return since is not None and time.monotonic() - since > _STALLED_AFTER_S

    def stop(self) -> bool:
        """End; a reading under way is waited for a moment. False when the reader hangs."""
        self._ended.set()
        self._wanted.set()
        if self._thread.is_alive():  # it isn't, where the app broke before it began to look
            self._thread.join(_JOIN_S)
        return not self._thread.is_alive()

    def _run(self) -> None:
        last: Snapshot | Trouble | None = None
        while not self._ended.is_set():
            self._wanted.clear()
            begun = self._looking_since = time.monotonic()
            news = self._take()
            self._looking_since = None
            self._keep(news, begun)
            if news != last:
                self._post(SnapshotFailed(news) if isinstance(news, Trouble) else SnapshotTaken(news))
                last = news
            self._wanted.wait(self.period_s)

    def _keep(self, news: Snapshot | Trouble, begun: float) -> None:
        with self._looked:
            self._begun = begun
            if isinstance(news, Snapshot):
                self._newest = news
            self._looked.notify_all()

    def _take(self) -> Snapshot | Trouble:
        try:
            return self._look()
        except Exception as error:  # noqa: BLE001 whatever a reading raises must be seen, and must not end the sampling
            return trouble_of(error)


async def in_thread(call: Callable[[], T]) -> T:
    """Await a blocking call that runs in a thread of its own; what it raises is raised here."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(setter: Callable[[Any], None], value: object) -> None:
        if not future.done():  # cancelled: the app is leaving
            setter(value)

    def body() -> None:
        try:
            outcome: tuple[Callable[[Any], None], object] = (future.set_result, call())
        except Exception as error:  # noqa: BLE001 carried over to the one who awaits
            outcome = (future.set_exception, error)
        with suppress(RuntimeError):  # the loop is closed: the app is gone, and nobody waits for this
            loop.call_soon_threadsafe(settle, *outcome)

    threading.Thread(target=body, name="action", daemon=True).start()
    return await future
