"""One look at the machine: its GPUs and its servers, as the values that every front end shows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, structs

from tui.diagnosis.progress import Progress
from tui.errors import SgltuiError
from tui.gpu import GpuReader, GpuReading, GpuSnapshot
from tui.keeper.identity import ProcessIdentity
from tui.keeper.states import ALIVE, State
from tui.launch.cause import describe_cause
from tui.launch.records import Recorded, list_names, read_newest
from tui.metrics.limits import Limit, find_limit, recent
from tui.metrics.live import LiveMetrics
from tui.paths import Places
from tui.units import MIB

if TYPE_CHECKING:
    from tui.diagnosis.stages import StageTracker
    from tui.launch.progress import ProgressReader
    from tui.metrics.poller import Poller

# Drivers and other processes breathe a little; the context of a server alone is larger than this.
_BREATH_BYTES = 256 * MIB
_SERVING = frozenset({State.READY, State.STOPPING})
_TOLD_BY_LOG = frozenset({State.STARTING, State.LOADING, State.FAILED, State.LOST})


class Instance(Struct, frozen=True):
    """The newest launch of one named server.

    Attributes:
        name, launch: `NAME/LAUNCH` addresses it.
        state: what its record says, corrected by what is seen now (a dead server without a record is `lost`).
        attended: a live keeper watches it.
        local: recorded by this host and pid namespace; others are shown and left alone.
        progress: where its start is, from its log; None once it is ready or was never started.
        gpus: uuids of the GPUs it was given.
        members: its processes, as last recorded and still alive.
        memory_bytes: what its members hold on all GPUs, or None when no GPU can be read.
        memory_by_difference: the driver doesn't name its processes (in a container with process ids of its own), so the
            amount is what its GPUs have more in use than before its start, less what others are known to hold.
        uptime_s: since its process was started, while it runs.
        ended_at: when its end was recorded.
        phase: what a stop is waiting for ("draining", "waiting for its memory"), while it is stopping.
        phase_s: for how long already.
        cause: why it ended, in a few words, when it failed; or what a stop left behind.
        live: what it does, while it serves; None where nobody asked, or before its first answer.
        awaits_restart: it has failed, and a keeper is to launch it again.
    """

    name: str
    launch: str
    state: State
    attended: bool
    local: bool
    progress: Progress | None
    pid: int | None
    gpus: tuple[str, ...]
    host: str
    port: int | None
    started_at: datetime | None
    uptime_s: float | None
    ended_at: datetime | None
    preset: str | None
    sglang_version: str | None
    log_path: Path
    members: tuple[ProcessIdentity, ...]
    memory_bytes: int | None
    cause: str | None
    phase: str | None = None
    phase_s: float | None = None
    memory_by_difference: bool = False
    live: LiveMetrics | None = None
    awaits_restart: bool = False

    @property
    def is_unattended(self) -> bool:
        """Something of it runs here, or is to be launched again, and its keeper is dead."""
        return self.local and not self.attended and (bool(self.members) or self.awaits_restart)


class BrokenRecord(Struct, frozen=True):
    """A server whose records can't be read; it is shown, and left alone."""

    name: str
    message: str


class Snapshot(Struct, frozen=True):
    """The whole machine at one moment. Equal snapshots look the same on screen."""

    gpus: GpuReading
    instances: tuple[Instance, ...]
    broken: tuple[BrokenRecord, ...] = ()


class Observer:
    """Takes snapshots; keeps what it has read of the logs, so that a look costs only what is new.

    Args:
        places: whose records.
        reader: the machine's GPUs.
        live_wait_s: ask servers what they do, and wait so long at most for their answers; those that come later are
            in the next look. None: don't ask.
    """

    def __init__(self, places: Places, reader: GpuReader, *, live_wait_s: float | None = None) -> None:
        self._places = places
        self._reader = reader
        self._logs: dict[Path, ProgressReader] = {}
        self._live_wait_s = live_wait_s
        self._poller: Poller | None = None

    def observe(self) -> Snapshot:
        """Look now."""
        gpus = self._reader.read()
        instances: list[Instance] = []
        broken: list[BrokenRecord] = []
        serving: list[Recorded] = []
        for name in list_names(self._places):
            try:
                recorded = read_newest(self._places, name)
                if recorded is not None:
                    instances.append(self._look_at(recorded, gpus))
                    if recorded.is_local and instances[-1].state in _SERVING:
                        serving.append(recorded)
            except SgltuiError as error:
                broken.append(BrokenRecord(name, str(error)))
        for path in self._logs.keys() - {instance.log_path for instance in instances}:
            self._forget_log(path)
        return Snapshot(gpus, self._with_live(instances, serving), tuple(broken))

    def history(self, address: str) -> tuple[LiveMetrics, ...]:
        """What `NAME/LAUNCH` did in the last hour, oldest first, as far as somebody looked."""
        return () if self._poller is None else self._poller.history(address)

    def limit(self, address: str) -> Limit | None:
        """What limits `NAME/LAUNCH` now, by its last minute; None where nobody asked it."""
        history = self.history(address)
        return find_limit(recent(history)) if history else None

    def _with_live(self, instances: Sequence[Instance], serving: Sequence[Recorded]) -> tuple[Instance, ...]:
        if self._live_wait_s is None or not (serving or self._poller):
            return tuple(instances)
        if self._poller is None:
            # Only now: where nothing serves, nothing of it is needed.
            from tui.metrics.poller import Poller  # noqa: PLC0415 - see above

            self._poller = Poller()
        self._poller.look(serving, self._live_wait_s)
        return tuple(structs.replace(one, live=self._poller.newest(f"{one.name}/{one.launch}")) for one in instances)

    def _look_at(self, recorded: Recorded, gpus: GpuReading) -> Instance:
        launch, state = recorded.launch, recorded.current_state()
        members = recorded.living_members()
        memory_bytes, by_difference = _memory(gpus, recorded, members) if members else (None, False)
        tracker = self._read_log(recorded.files.log, state) if recorded.is_local else None
        started_at = recorded.state.started_at
        return Instance(
            name=launch.name,
            launch=launch.launch,
            state=state,
            attended=recorded.is_attended,
            local=recorded.is_local,
            progress=tracker.progress if tracker is not None else None,
            pid=recorded.state.server.pid if recorded.state.server is not None and state in ALIVE else None,
            gpus=tuple(gpu.uuid for gpu in launch.gpus),
            host=launch.host,
            port=launch.port,
            started_at=started_at,
            uptime_s=_seconds_since(started_at) if state in ALIVE else None,
            ended_at=recorded.exit.at if recorded.exit is not None else None,
            preset=launch.preset,
            sglang_version=launch.sglang_version,
            log_path=recorded.files.log,
            members=members,
            memory_bytes=memory_bytes,
            memory_by_difference=by_difference,
            cause=describe_cause(recorded, state, tracker),
            phase=recorded.state.phase if state is State.STOPPING else None,
            phase_s=_seconds_since(recorded.state.phase_since) if state is State.STOPPING else None,
            awaits_restart=recorded.awaits_restart,
        )

    def _read_log(self, path: Path, state: State) -> StageTracker | None:
        """Where the start is, or how it failed; a launch that is ready or was stopped has nothing to tell here."""
        if state not in _TOLD_BY_LOG:
            self._forget_log(path)
            return None
        if path not in self._logs:
            # Only now: reading logs takes as long to import as everything else that `ps` needs.
            from tui.launch.progress import ProgressReader  # noqa: PLC0415 - see above

            self._logs[path] = ProgressReader(path)
        return self._logs[path].catch_up()

    def _forget_log(self, path: Path) -> None:
        reader = self._logs.pop(path, None)
        if reader is not None:
            reader.close()


def _memory(gpus: GpuReading, recorded: Recorded, members: Iterable[ProcessIdentity]) -> tuple[int | None, bool]:
    """What the members hold on all GPUs, and whether that is only told by difference; None where nobody can tell."""
    held = _memory_bytes(gpus, members)
    if held != 0:
        return held, False
    baseline = recorded.state.gpu_used_at_start or {}
    given = {gpu.uuid for gpu in recorded.launch.gpus}
    more = sum(_unexplained_growth(gpu, baseline) for gpu in gpus.gpus if gpu.uuid in given & set(baseline))
    return (more, True) if more > _BREATH_BYTES else (held, False)


def _unexplained_growth(gpu: GpuSnapshot, baseline: Mapping[str, int]) -> int:
    """Bytes in use beyond the baseline that no process holds whom this machine knows."""
    if gpu.memory is None:
        return 0
    known = sum(process.used_bytes or 0 for process in gpu.processes if process.command is not None)
    return max(0, min(gpu.memory.used_bytes - baseline[gpu.uuid], gpu.memory.used_bytes - known))


def _memory_bytes(gpus: GpuReading, members: Iterable[ProcessIdentity]) -> int | None:
    """What the members hold on all GPUs; None where the driver names no amounts."""
    pids = {member.pid for member in members}
    held = [
        process.used_bytes
        for gpu in gpus.gpus
        for process in gpu.processes
        if process.pid in pids and process.used_bytes is not None
    ]
    if not held and (gpus.problem is not None or not gpus.gpus):
        return None
    return sum(held)


def _seconds_since(moment: datetime | None) -> float | None:
    return None if moment is None else (datetime.now(UTC) - moment).total_seconds()
