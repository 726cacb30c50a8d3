"""One look at the machine: its GPUs and its servers, as the values that every front end shows."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from tui.diagnosis.progress import Progress
from tui.errors import SgltuiError
from tui.gpu import GpuReader, GpuReading
from tui.keeper.identity import ProcessIdentity
from tui.keeper.states import ALIVE, State
from tui.launch.records import Recorded, list_names, read_newest
from tui.paths import Places
from tui.text import printable

if TYPE_CHECKING:
    from tui.diagnosis.stages import StageTracker
    from tui.launch.progress import ProgressReader

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
        uptime_s: since its process was started, while it runs.
        ended_at: when its end was recorded.
        phase: what a stop is waiting for ("draining", "waiting for its memory"), while it is stopping.
        phase_s: for how long already.
        cause: why it ended, in a few words, when it failed; or what a stop left behind.
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
    """

    def __init__(self, places: Places, reader: GpuReader) -> None:
        self._places = places
        self._reader = reader
        self._logs: dict[Path, ProgressReader] = {}

    def observe(self) -> Snapshot:
        """Look now."""
        gpus = self._reader.read()
        instances: list[Instance] = []
        broken: list[BrokenRecord] = []
        for name in list_names(self._places):
            try:
                recorded = read_newest(self._places, name)
                if recorded is not None:
                    instances.append(self._look_at(recorded, gpus))
            except SgltuiError as error:
                broken.append(BrokenRecord(name, str(error)))
        for path in self._logs.keys() - {instance.log_path for instance in instances}:
            self._forget_log(path)
        return Snapshot(gpus, tuple(instances), tuple(broken))

    def _look_at(self, recorded: Recorded, gpus: GpuReading) -> Instance:
        launch, state = recorded.launch, recorded.current_state()
        members = recorded.living_members()
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
            memory_bytes=_memory_bytes(gpus, members) if members else None,
            cause=_cause(recorded, state, tracker),
            phase=recorded.state.phase if state is State.STOPPING else None,
            phase_s=_seconds_since(recorded.state.phase_since) if state is State.STOPPING else None,
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


def _cause(recorded: Recorded, state: State, tracker: StageTracker | None) -> str | None:
    """Why it isn't running, in a few words: what its log says, else what its exit says."""
    if state is State.LOST:
        return "gone without a trace: its keeper had died before, or the machine was restarted"
    if state is State.STOPPED:
        return _left_behind(recorded)
    if state is not State.FAILED:
        return None
    if recorded.exit is not None and recorded.exit.cause is not None:
        return printable(recorded.exit.cause)
    if tracker is not None and tracker.exception is not None:
        return _harmless(tracker.exception)
    return f"{_exit_words(recorded)}{_when(recorded, tracker)}"


def _when(recorded: Recorded, tracker: StageTracker | None) -> str:
    if recorded.exit is not None and recorded.exit.was_ready:
        return " after it was ready"
    return f" during {tracker.progress.stage}" if tracker is not None else ""


def _harmless(exception: str) -> str:
    """A line of a log without control codes, and without a secret that was mistyped and is echoed in it."""
    from tui.sglang.command import redact  # noqa: PLC0415 - only what has failed needs it

    return " ".join(redact(printable(exception).split(" ")))


def _left_behind(recorded: Recorded) -> str | None:
    """What a stop couldn't end or bring back."""
    report = recorded.exit.stop if recorded.exit is not None else None
    if report is None:
        return None
    if report.survivors:
        return f"pid {', '.join(map(str, report.survivors))} survived"
    if report.released is False:
        return f"{report.memory_after_gib} GiB of GPU memory hadn't come back when the stop gave up waiting"
    return None


def _exit_words(recorded: Recorded) -> str:
    ended = recorded.exit
    if ended is None or ended.returncode is None:
        return "ended, and nobody saw how"
    if ended.signal is not None:
        return f"ended by {ended.signal}"
    return f"ended with status {ended.returncode}"
