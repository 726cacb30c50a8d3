"""One look at the machine: its GPUs and its servers, as the values that every front end shows."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from tui.diagnosis.stages import Progress
from tui.gpu import GpuReading
from tui.keeper.identity import ProcessIdentity
from tui.keeper.states import State


@dataclass(frozen=True, slots=True)
class Instance:
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
        cause: why it ended, in a few words, when it failed.
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
    preset: str | None
    sglang_version: str | None
    log_path: Path
    members: tuple[ProcessIdentity, ...]
    memory_bytes: int | None
    cause: str | None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The whole machine at one moment. Equal snapshots look the same on screen."""

    gpus: GpuReading
    instances: tuple[Instance, ...]
