"""Asks all servers at once, in the background, as long as somebody looks; and remembers their last hour."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tui.launch.records import Recorded
from tui.metrics.live import LiveMetrics
from tui.metrics.poll import ServerPoll
from tui.metrics.target import find_target

PERIOD_S = 2.0
"""Each request is a line in the server's log."""
_IDLE_PERIOD_S = 8.0  # of a server without requests: its log is to stand still, too
# Of `[2026-11-29 03:08:20] INFO:     127.0.0.1:57512 - "GET /v1/loads HTTP/1.1" 200 OK`, and room.
_OWN_LINE_BYTES = 160
_LONGEST_PERIOD_S = 30.0  # of a server that doesn't answer: its refusals are lines, too
HISTORY_SPAN = timedelta(hours=1)
HISTORY_LENGTH = int(HISTORY_SPAN.total_seconds() / PERIOD_S)


class Poller:
    """The figures of the servers that are looked at. For one looking thread; those that ask are its own."""

    def __init__(self) -> None:
        self._watched: dict[str, _Watched] = {}

    def look(self, servers: Iterable[Recorded], wait_s: float = 0.0) -> None:
        """Ask those whose time has come, forget the others, and wait that long at most for the answers."""
        seen = {recorded.address: recorded for recorded in servers}
        self._watched = {address: watched for address, watched in self._watched.items() if address in seen}
        for address, recorded in seen.items():
            self._watched.setdefault(address, _Watched()).ask_if_due(recorded)
        deadline = time.monotonic() + wait_s
        for watched in self._watched.values():
            watched.wait(max(deadline - time.monotonic(), 0.0))

    def newest(self, address: str) -> LiveMetrics | None:
        """The newest figures of `NAME/LAUNCH`; None before the first answer."""
        history = self.history(address)
        return history[-1] if history else None

    def history(self, address: str) -> tuple[LiveMetrics, ...]:
        """Its figures of the last hour, oldest first, as far as somebody looked."""
        watched = self._watched.get(address)
        return () if watched is None else tuple(watched.history)


class _Watched:
    """One server. `history` is appended to by the asking thread alone, of which there is one at most."""

    def __init__(self) -> None:
        self.history: deque[LiveMetrics] = deque(maxlen=HISTORY_LENGTH)
        self._poll: ServerPoll | None = None
        self._thread: threading.Thread | None = None
        self._asked_at = -_LONGEST_PERIOD_S
        self._period_s = PERIOD_S
        self._is_idle = self._has_own_line = False
        self._log_bytes = 0  # when it was asked, or when its log was last seen to stand still

    def ask_if_due(self, recorded: Recorded) -> None:
        is_asking = self._thread is not None and self._thread.is_alive()
        waited_s = time.monotonic() - self._asked_at
        if is_asking or waited_s < self._period_s:
            return
        log_bytes = _size(recorded.files.log)
        if self._is_idle and waited_s < _LONGEST_PERIOD_S and self._has_stood_still(log_bytes):
            return
        self._asked_at, self._log_bytes = time.monotonic(), log_bytes
        self._has_own_line = False
        # A daemon, and not an executor's: those are waited for at the end, however long a server takes.
        self._thread = threading.Thread(target=self._ask, args=(recorded,), name="metrics", daemon=True)
        self._thread.start()

    def _has_stood_still(self, log_bytes: int) -> bool:
        """Nothing was logged since it was asked but the line of that: who logs our requests logs all others, too."""
        grown = log_bytes - self._log_bytes
        if not self._has_own_line and 0 < grown <= _OWN_LINE_BYTES:
            self._has_own_line, self._log_bytes = True, log_bytes
            return True
        return self._has_own_line and grown == 0

    def wait(self, limit_s: float) -> None:
        if self._thread is not None:
            self._thread.join(limit_s)

    def _ask(self, recorded: Recorded) -> None:
        try:
            if self._poll is None:
                self._poll = ServerPoll(find_target(recorded))
            told, is_refused = self._poll.ask(recorded.living_members()), self._poll.was_refused
        except Exception as error:  # noqa: BLE001 - a thread's end isn't seen by anybody, and would draw over the UI
            told = LiveMetrics(at=datetime.now(UTC), source=None, trouble=f"can't be asked: {error!r}")
            is_refused = True
        self._is_idle = not is_refused and _is_idle(told)
        self._period_s = _next_period_s(self._period_s, told, is_refused=is_refused)
        self._remember(told)

    def _remember(self, told: LiveMetrics) -> None:
        """Of who is asked rarely, so many looks would be of half a day."""
        while self.history and told.at - self.history[0].at > HISTORY_SPAN:
            self.history.popleft()
        self.history.append(told)


def _next_period_s(period_s: float, told: LiveMetrics, *, is_refused: bool) -> float:
    """Less and less often while nothing happens, or nobody answers; often again at the first request."""
    if is_refused:
        return min(2 * period_s, _LONGEST_PERIOD_S)
    return min(2 * period_s, _IDLE_PERIOD_S) if _is_idle(told) else PERIOD_S


def _is_idle(told: LiveMetrics) -> bool:
    return told.running == 0 and not told.queued


def _size(log: Path) -> int:
    """0 where there is none."""
    try:
        return log.stat().st_size
    except OSError:
        return 0
