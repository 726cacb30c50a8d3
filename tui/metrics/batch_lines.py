"""What the end of a server's log tells of its newest batches: SGLang logs each prefill, and each 40 decode steps."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from tui.logs.file import LogFile
from tui.metrics.live import Figures, combine
from tui.sglang.log_events import DecodeBatch, PrefillBatch
from tui.sglang.loglines import LogLine, parse_event, parse_line

_TAIL_BYTES = 128 << 10
_FRESH = timedelta(seconds=60)
_BATCH = (b"Decode batch", b"Prefill batch", b"Retract requests")
_BATCH_WORDS = ("Decode batch", "Prefill batch")
# `srt/managers/scheduler.py`; 0.5.6 has `#retracted_reqs`, too.
_RETRACTED = re.compile(r"KV cache pool is full\. Retract requests\. #retracted_reqs: (\d{1,9})")


@dataclass(slots=True)
class _Rank:
    """One rank's newest lines, and what its prompts had cached."""

    decode: DecodeBatch | None = None
    newest: DecodeBatch | PrefillBatch | None = None
    new_tokens: int = 0
    cached_tokens: int = 0

    def figures(self) -> Figures:
        """As a source."""
        decode, newest = self.decode, self.newest
        prompts = self.new_tokens + self.cached_tokens
        return Figures(
            running=_running(newest),
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


def read_batches(path: Path, now: float) -> LoggedBatches:
    """Read the end of a log.

    Args:
        path: the log; none is an empty one.
        now: seconds since 1970. The stamps' time zone is the server's, so their age is told by the file's: its newest
            stamp is of the moment when it was last written to.

    Raises:
        SgltuiError: it can't be read.
    """
    try:
        age = timedelta(seconds=max(now - path.stat().st_mtime, 0.0))
    except OSError:
        return LoggedBatches()
    lines = [parse_line(line.decode(errors="replace")) for line in _tail(path) if _tells(line)]
    stamped = [(line.timestamp, line) for line in lines if line.timestamp is not None]
    if not stamped:
        return LoggedBatches()
    end = stamped[-1][0] + age
    recent = [line for stamp, line in stamped if end - stamp <= _FRESH]
    newest = next((stamp for stamp, line in reversed(stamped) if _batch(line) is not None), None)
    return LoggedBatches(
        figures=_figures(recent),
        retractions=sum(filter(None, map(_retracted, recent))),
        last_batch_s=None if newest is None else (end - newest).total_seconds(),
    )


def _tail(path: Path) -> list[bytes]:
    """The last whole lines. The newest may be half written: it is left out."""
    log = LogFile.open(path)
    if log is None:
        return []
    with closing(log):
        size = log.size()
        start = max(size - _TAIL_BYTES, log.head)
        lines = log.read(start, size - start).split(b"\n")
    return lines[1:-1] if start else lines[:-1]


def _tells(line: bytes) -> bool:
    """It is of a batch, or at least stamped: the newest stamp dates the others."""
    return line.startswith(b"[2") or any(mark in line for mark in _BATCH)


def _figures(lines: Iterable[LogLine]) -> Figures:
    ranks: dict[tuple[str, ...], _Rank] = {}
    for line in lines:
        if (event := _batch(line)) is not None:
            rank = ranks.setdefault(line.ranks, _Rank())
            rank.newest = event
            if isinstance(event, DecodeBatch):
                rank.decode = event
            elif not event.is_health_probe:
                rank.new_tokens += event.new_tokens
                rank.cached_tokens += event.cached_tokens
    return combine((_replica(tags), rank.figures()) for tags, rank in ranks.items())


def _batch(line: LogLine) -> DecodeBatch | PrefillBatch | None:
    """Looked for by its words first: most lines of a busy log are others, and to find out which takes long."""
    event = parse_event(line.message) if line.message.startswith(_BATCH_WORDS) else None
    return event if isinstance(event, DecodeBatch | PrefillBatch) else None


def _replica(tags: Iterable[str]) -> str:
    return next((tag for tag in tags if tag.startswith("DP")), "")


def _running(batch: DecodeBatch | PrefillBatch | None) -> int | None:
    """A prefill's own sequences aren't among its running requests."""
    if isinstance(batch, PrefillBatch):
        return None if batch.running is None else batch.running + batch.new_seqs
    return None if batch is None else batch.running


def _retracted(line: LogLine) -> int | None:
    found = _RETRACTED.match(line.message)
    return int(found[1]) if found else None
