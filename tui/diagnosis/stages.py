"""Where a launch is, from the lines it has logged."""

from __future__ import annotations

from datetime import datetime

from tui.diagnosis.progress import Progress, Stage
from tui.diagnosis.tracebacks import FatalException
from tui.sglang import log_events as ev
from tui.sglang.loglines import LogLine, event_of, split_line

_ORDER = {stage: place for place, stage in enumerate(Stage)}

# The stage that a rank is in after a line of this kind.
_RANK_STAGES: dict[type[ev.Event], Stage] = {
    ev.DistributedInitBegin: Stage.DISTRIBUTED_INIT,
    ev.DistributedInitEnd: Stage.DISTRIBUTED_INIT,
    ev.MemoryBaseline: Stage.DISTRIBUTED_INIT,
    ev.LoadWeightBegin: Stage.WEIGHT_LOAD,
    ev.LoadWeightEnd: Stage.MEMORY_POOL,
    ev.MambaCache: Stage.MEMORY_POOL,
    ev.SlidingWindowPools: Stage.MEMORY_POOL,
    ev.KvCache: Stage.MEMORY_POOL,
    ev.SwaKvPool: Stage.MEMORY_POOL,
    ev.MemoryPoolEnd: Stage.MEMORY_POOL,
    ev.GraphCaptureBegin: Stage.CUDA_GRAPH_CAPTURE,
    ev.GraphCaptureEnd: Stage.CUDA_GRAPH_CAPTURE,
    ev.PoolSummary: Stage.WARMUP,
}
# The stage that the whole server is in after a line of the main process.
_SERVER_STAGES: dict[type[ev.Event], Stage] = {
    ev.HttpListening: Stage.WARMUP,
    ev.BindError: Stage.WARMUP,
    ev.Ready: Stage.READY,
    ev.Draining: Stage.SHUTDOWN,
    ev.GracefulExit: Stage.SHUTDOWN,
    ev.HttpShutdown: Stage.SHUTDOWN,
}
_Bar = ev.FetchProgress | ev.ShardProgress | ev.GraphProgress
_BAR_STAGES: dict[type[_Bar], Stage] = {
    ev.FetchProgress: Stage.DOWNLOAD,
    ev.ShardProgress: Stage.WEIGHT_LOAD,
    ev.GraphProgress: Stage.CUDA_GRAPH_CAPTURE,
}


class StageTracker:
    """Follows one launch's log from its first line.

    The stage is where the launch is now: a draft model's load comes after the target's pool. With several ranks it is
    the stage of the slowest of those seen. A new `server_args=` line starts over: another launch in the same file.
    """

    def __init__(self) -> None:
        self._restart(Progress(Stage.ARGS))

    @property
    def progress(self) -> Progress:
        """Where the launch is."""
        return self._progress

    @property
    def exception(self) -> str | None:
        """The head line of the exception that ended the launch, as far as it can be told simply."""
        return self._fatal.text

    def feed(self, line: str) -> None:
        """One complete line of the log, or the newest state of a progress bar."""
        for part in split_line(line):
            self.follow(part, event_of(part))

    def follow(self, line: LogLine, event: ev.Event | None) -> None:
        """The same, for who has parted the line already."""
        if isinstance(event, ev.ServerArgsLogged):
            self._restart(Progress(Stage.IMPORT, since=line.timestamp))
        elif self._progress.stage is not Stage.SHUTDOWN:  # an end that was asked for isn't an exception's doing
            self._follow(line, event)

    def where(self, ranks: tuple[str, ...]) -> tuple[Stage, int]:
        """The stage of one rank and how many weight loads it has begun; the launch's, where the rank said nothing."""
        loads, place = self._ranks.get(ranks, (0, -1))
        here = self._progress.stage
        if place < 0 or not self._is_before(Stage.WARMUP):
            return here, loads
        return list(Stage)[place], loads

    def _restart(self, progress: Progress) -> None:
        self._progress = progress
        self._fatal = FatalException()
        self._ranks: dict[tuple[str, ...], tuple[int, int]] = {}  # rank: (weight loads begun, place of its stage)

    def _follow(self, line: LogLine, event: ev.Event | None) -> None:
        if isinstance(event, ev.ArgparseError) and self._progress.stage is not Stage.ARGS:
            return
        self._fatal.feed(line, event)
        if isinstance(event, _Bar):
            self._show_bar(event)
        elif event is not None:
            self._move_rank(line, event)
            self._move_server(line, event)

    def _move_rank(self, line: LogLine, event: ev.Event) -> None:
        stage = _RANK_STAGES.get(type(event))
        if stage is None or not self._is_before(Stage.WARMUP):
            return
        loads, _ = self._ranks.get(line.ranks, (0, 0))
        loads += isinstance(event, ev.LoadWeightBegin)
        self._ranks[line.ranks] = (loads, _ORDER[stage])
        _, place = min(self._ranks.values())
        self._enter(list(Stage)[place], line.timestamp)

    def _move_server(self, line: LogLine, event: ev.Event) -> None:
        if isinstance(event, ev.Ready) and self.exception is not None:
            return  # after a bind error the warm-up reaches whoever has the port, and calls that ready
        if self._progress.stage is Stage.READY and _is_work(event):
            self._enter(Stage.RUNTIME, line.timestamp)
        stage = _SERVER_STAGES.get(type(event))
        if stage is not None and self._is_before(stage):
            self._enter(stage, line.timestamp)

    def _show_bar(self, bar: _Bar) -> None:
        """A bar says how far its stage is; the stage itself only where no rank's lines do (a quiet log level)."""
        stage, current = _BAR_STAGES[type(bar)], self._progress.stage
        downloads = stage is Stage.DOWNLOAD and self._is_before(Stage.MEMORY_POOL)
        if self._is_before(Stage.WARMUP) and (not self._ranks or current in (stage, Stage.DOWNLOAD) or downloads):
            since = self._progress.since if current is stage else None
            self._progress = Progress(stage, bar.done, bar.total, since)

    def _enter(self, stage: Stage, since: datetime | None) -> None:
        if stage is not self._progress.stage:
            self._progress = Progress(stage, since=since)

    def _is_before(self, stage: Stage) -> bool:
        return _ORDER[self._progress.stage] < _ORDER[stage]


def _is_work(event: ev.Event) -> bool:
    """A ready server does what it is there for, or fails at it. A health probe isn't work."""
    if isinstance(event, ev.PrefillBatch):
        return not event.is_health_probe
    return isinstance(event, ev.DecodeBatch | ev.ProcessException)
