"""Asking one server for its figures: always at the best source that it has, with one request at most."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime
from http import HTTPStatus

from msgspec import structs

from tui.errors import SgltuiError
from tui.keeper.identity import ProcessIdentity
from tui.keeper.readiness import owns_port
from tui.metrics.batch_lines import BatchLog, LoggedBatches
from tui.metrics.exposition import Counters, parse_metrics
from tui.metrics.live import Figures, LiveMetrics, Source
from tui.metrics.loads import parse_get_load, parse_loads
from tui.metrics.target import Capacity, Target, read_capacity
from tui.metrics.window import Recent, Window
from tui.sglang.http import NoAnswerError, get

_LIMIT_S = 2.0
_LOADS_SINCE = "0.5.7"  # 0.5.6 has no /v1/loads; the releases up to 0.5.10 may or may not
_REFUSED = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)


class ServerPoll:
    """One server, asked again and again by one thread at a time.

    Attributes:
        was_refused: its newest request had no good answer.
    """

    def __init__(self, target: Target) -> None:
        self._target = target
        self._sources = _sources(target)
        self._given_up: str | None = None
        self.was_refused = False
        self._window = Window()
        self._log = BatchLog(target.log)
        self._capacity: Capacity | None = None

    def ask(self, members: Sequence[ProcessIdentity]) -> LiveMetrics:
        """The figures now, with the log's in the place of those that its endpoint doesn't tell. Never raises."""
        at, source = datetime.now(UTC), self._sources[0]
        self._capacity = self._capacity or read_capacity(self._target)
        trouble, told, recent = self._given_up, None, Recent()
        self.was_refused = False
        if source is not Source.LOG:
            try:
                told, counters = self._ask_at(source, members)
                recent = self._window.add(time.monotonic(), counters)
            except NoAnswerError as error:
                trouble, self.was_refused = str(error), True
        logged, log_trouble = self._read_log()
        if told is None:
            source, told = Source.LOG, logged.figures
        figures = self._complete(source, told, logged.figures)
        return LiveMetrics(
            **{**structs.asdict(figures), "cache_hit_rate": _first(recent.cache_hit_rate, figures.cache_hit_rate)},
            at=at,
            source=source if any(value is not None for value in structs.astuple(told)) else None,
            retractions=logged.retractions if recent.retractions is None else recent.retractions,
            time_to_first_token_s=recent.time_to_first_token_s,
            trouble=trouble or log_trouble,
        )

    def _complete(self, source: Source, told: Figures, logged: Figures) -> Figures:
        if source is Source.LOADS and logged.accept_length is not None:
            told = structs.replace(told, accept_length=logged.accept_length)  # its own is the mean since the start
        if told.queued or (source is Source.METRICS and (told.running or told.kv_usage)):
            # A prefill publishes who ran before it, which may be nobody: its line also tells who has just begun. While
            # it goes on, /v1/loads doesn't count them either; who waits then waits for those that the log told of.
            told = structs.replace(told, running=max(told.running or 0, logged.running or 0))
        capacity = self._capacity or Capacity()
        figures = told.filled(logged).filled(capacity.figures)
        if figures.slot_usage is None and capacity.slots and told.running == 0:
            return structs.replace(figures, slot_usage=0.0)
        return figures

    def _ask_at(self, source: Source, members: Sequence[ProcessIdentity]) -> tuple[Figures, Counters]:
        endpoint = self._target.endpoint
        if not owns_port(members, endpoint.port, endpoint.host):
            raise NoAnswerError(f"port {endpoint.port} isn't listened on by it")
        answer = get(endpoint, source, _LIMIT_S)
        if answer.status != HTTPStatus.OK:
            raise NoAnswerError(self._refusal(source, answer.status))
        try:
            if source is Source.METRICS:
                return parse_metrics(answer.body)
            return (parse_loads if source is Source.LOADS else parse_get_load)(answer.body), Counters()
        except ValueError:
            raise NoAnswerError(f"what it says on {source} isn't SGLang's") from None

    def _refusal(self, source: Source, status: int) -> str:
        """Why there is no answer; a source that it doesn't have, or fails at with a traceback, isn't asked again."""
        if status == HTTPStatus.NOT_FOUND or (status == HTTPStatus.INTERNAL_SERVER_ERROR and source != Source.METRICS):
            self._sources = self._sources[1:]
            if self._sources == [Source.LOG]:
                self._given_up = f"{status} on {source}"
        if status in _REFUSED:
            asks = "it asks for an API key that its command line doesn't hold"
            return (
                f"{status} on {source}: {asks if self._target.endpoint.key is None else 'it refuses its own API key'}"
            )
        if status == HTTPStatus.SERVICE_UNAVAILABLE:
            return f"{status} on {source}: it is starting or ending"
        return f"{status} on {source}"

    def _read_log(self) -> tuple[LoggedBatches, str | None]:
        try:
            return self._log.read(time.time()), None
        except SgltuiError as error:
            return LoggedBatches(), str(error)


def _sources(target: Target) -> list[Source]:
    """The best first. Where metrics are on, 0.5.11 may fail at /v1/loads (with FastAPI 0.120 or later)."""
    if target.has_metrics:
        return [Source.METRICS, Source.LOG]
    if target.release is not None and not target.release.includes(_LOADS_SINCE):
        return [Source.GET_LOAD, Source.LOG]
    return [Source.LOADS, Source.GET_LOAD, Source.LOG]


def _first(hit_rate: float | None, logged: float | None) -> float | None:
    """Cached tokens may be counted a moment before their prompts: a share is 1 at most."""
    return logged if hit_rate is None else min(hit_rate, 1.0)
