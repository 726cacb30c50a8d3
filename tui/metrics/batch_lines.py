"""What the end of a server's log tells of its newest batches: SGLang logs each prefill, and each 40 decode steps."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from tui.logs.file import LogFile
from tui.logs.follow import Follower
from tui.metrics.live import Figures, combine
from tui.sglang.log_events import DecodeBatch, PrefillBatch
from tui.sglang.loglines import LogLine, parse_event, parse_line

_TAIL_BYTES = 128 << 10
_FRESH = timedelta(seconds=60)
_BEGUN = timedelta(seconds=15)  # what goes on that long has a decode batch or another prefill logged
_DECODE = b"] Decode batch"
_STAMP_BYTES = len("[2026-11-30 01:00:00")
_MARKS = (b"Decode batch", b"Prefill batch", b"Retract requests")
_TOLD_LIMIT = 10_000  # more than SGLang logs in a minute
_BATCH_WORDS = ("Decode batch", "Prefill batch")
# `srt/managers/scheduler.py`; 0.5.6 has `#retracted_reqs`, too.
_RETRACTED = re.compile(r"KV cache pool is full\. Retract requests\. #retracted_reqs: (\d{1,9})")


class _Told(NamedTuple):
    """What one line told: of a batch, or how many requests were retracted."""

    at: datetime
    ranks: tuple[str, ...]
    what: DecodeBatch | PrefillBatch | int


@dataclass(slots=True)
class _Rank:
    """One rank's newest lines, and what its prompts had cached."""

    decode: DecodeBatch | None = None
    newest: DecodeBatch | PrefillBatch | None = None
    running: int | None = None
    new_tokens: int = 0
    cached_tokens: int = 0

    def figures(self) -> Figures:
        """As a source."""
        decode, newest = self.decode, self.newest
        prompts = self.new_tokens + self.cached_tokens
        return Figures(
            running=self.running,
            queued=newest.queued if newest is not None else None,
            tokens_per_s=decode.tokens_per_s if decode is not None else None,
            kv_usage=newest.token_usage if newest is not None else None,
            slot_usage=newest.slot_usage if newest is not None else None,
            accept_length=decode.accept_length if decode is not None else None,
            cache_hit_rate=self.cached_tokens / prompts if prompts else None,
        )


@dataclass(slots=True)
class LoggedBatches:
    """What the last minute of a log says.

    Attributes:
        figures: all None where no batch was logged in that minute: nothing runs, or the log isn't believed.
        retractions: requests, in that minute.
        last_batch_s: how long ago the newest batch was logged; None where the end of the log has none.
    """

    figures: Figures = field(default_factory=Figures)
    retractions: int = 0
    last_batch_s: float | None = None


class BatchLog:
    """A server's log, of which each look reads what was appended since the last one."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._log: Follower | None = None
        self._end: datetime | None = None  # the newest stamp
        self._newest: datetime | None = None  # batch
        self._told: deque[_Told] = deque(maxlen=_TOLD_LIMIT)

    def read(self, now: float) -> LoggedBatches:
        """What its last minute says.

        Args:
            now: seconds since 1970. The stamps' time zone is the server's, so their age is told by the file's: its
                newest stamp is of the moment when it was last written to.

        Raises:
            SgltuiError: it can't be read.
        """
        try:
            age = timedelta(seconds=max(now - self._path.stat().st_mtime, 0.0))
        except OSError:
            return LoggedBatches()
        self._read_on()
        if self._end is None:
            return LoggedBatches()
        end = self._end + age
        recent = [told for told in self._told if end - told.at <= _FRESH]
        return LoggedBatches(
            figures=_figures(recent, end),
            retractions=sum(told.what for told in recent if isinstance(told.what, int)),
            last_batch_s=None if self._newest is None else (end - self._newest).total_seconds(),
        )

    def _read_on(self) -> None:
        """Of a log that has grown by much more than a look should read, the end alone."""
        self._log = self._log or self._follow()
        chunk = self._log.poll()
        if chunk.reset:
            self._end = self._newest = None
            self._told.clear()
        if chunk.more:
            self._log.close()
            self._log = self._follow()
            chunk = self._log.poll()
        told = list(filter(None, map(_told, _worth_parsing(chunk.lines))))
        self._told.extend(told)
        self._newest = next((one.at for one in reversed(told) if not isinstance(one.what, int)), self._newest)
        stamps = (parse_line(line.decode(errors="replace")).timestamp for line in reversed(chunk.lines) if _tells(line))
        self._end = next(filter(None, stamps), self._end)
        while self._told and self._end is not None and self._end - self._told[0].at > _FRESH:
            self._told.popleft()

    def _follow(self) -> Follower:
        log = LogFile.open(self._path)
        if log is None:
            return Follower(self._path)
        with closing(log):
            start = max(log.size() - _TAIL_BYTES, log.head)
            cut = log.read(start, _TAIL_BYTES).find(b"\n") + 1 if start else 0
            return Follower(self._path, start + cut)


def _tells(line: bytes) -> bool:
    """It may have a stamp: the newest dates the others."""
    return line.startswith(b"[2") or any(mark in line for mark in _MARKS)


def _worth_parsing(lines: Iterable[bytes]) -> Iterable[bytes]:
    """Of a rank's decode batches the newest: it says all that the ones before it said, and there may be thousands."""
    kept: list[bytes] = []
    newest: dict[bytes, int] = {}  # where the decode batch of each rank is among them
    for line in lines:
        if any(mark in line for mark in _MARKS):
            close = line.find(b"]")
            if line.startswith(b"[2") and line.startswith(_DECODE, close):
                rank = line[_STAMP_BYTES:close]
                if rank in newest:
                    kept[newest[rank]] = b""
                newest[rank] = len(kept)
            kept.append(line)
    return filter(None, kept)


def _told(line: bytes) -> _Told | None:
    """What a line says, if it is believed: it carries a stamp."""
    parsed = parse_line(line.decode(errors="replace"))
    what = _batch(parsed) or _retracted(parsed)
    return None if parsed.timestamp is None or what is None else _Told(parsed.timestamp, parsed.ranks, what)


def _figures(told: Iterable[_Told], now: datetime) -> Figures:
    ranks: dict[tuple[str, ...], _Rank] = {}
    for one in told:
        if isinstance(batch := one.what, int):
            continue
        rank = ranks.setdefault(one.ranks, _Rank())
        rank.newest, rank.running = batch, _running(batch, now - one.at)
        if isinstance(batch, DecodeBatch):
            rank.decode = batch
        elif not batch.is_health_probe:
            rank.new_tokens += batch.new_tokens
            rank.cached_tokens += batch.cached_tokens
    return combine((_replica(tags), rank.figures()) for tags, rank in ranks.items())


def _batch(line: LogLine) -> DecodeBatch | PrefillBatch | None:
    """Looked for by its words first: most lines of a busy log are others, and to find out which takes long."""
    event = parse_event(line.message) if line.message.startswith(_BATCH_WORDS) else None
    return event if isinstance(event, DecodeBatch | PrefillBatch) else None


def _replica(tags: Iterable[str]) -> str:
    return next((tag for tag in tags if tag.startswith("DP")), "")


def _running(batch: DecodeBatch | PrefillBatch, age: timedelta) -> int | None:
    """A prefill's own sequences aren't among its running requests, and nothing is logged when they end."""
    if batch.running is None or isinstance(batch, DecodeBatch):
        return batch.running
    return batch.running + (batch.new_seqs if age <= _BEGUN else 0)


def _retracted(line: LogLine) -> int | None:
    found = _RETRACTED.match(line.message)
    return int(found[1]) if found else None
