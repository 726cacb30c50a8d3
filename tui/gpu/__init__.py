"""What the GPUs of a machine hold at one moment, and the protocol by which it is read.

Structs rather than dataclasses, here and wherever `sgltui ps` comes by: they take a fortieth of the time to define.
"""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from msgspec import Struct


class GpuMemory(Struct, frozen=True):
    """Device memory in bytes; `total = used + free + reserved` where the driver tells `reserved`.

    Attributes:
        reserved_bytes: kept by driver and firmware (memory info v2), or None when only v1 answers,
            which counts it into `used_bytes`.
    """

    total_bytes: int
    used_bytes: int
    free_bytes: int
    reserved_bytes: int | None


class GpuProcess(Struct, frozen=True):
    """A process that holds memory of a GPU.

    Attributes:
        used_bytes: None where the driver doesn't tell (some containers, MIG, WSL).
        user, command: None when the process can't be looked up (another pid namespace, already gone).
    """

    pid: int
    used_bytes: int | None
    user: str | None = None
    command: str | None = None


class GpuSnapshot(Struct, frozen=True):
    """One GPU at one moment. What the driver can't tell is None; `problem` says why all of it is missing.

    Attributes:
        capability: CUDA compute capability, major and minor.
        problem_since: when it was first met.
        instances: the parts it is split into (MIG), each with its own memory and processes; `index` is the part's, and
            `name` its profile. Nothing can run on the whole then; its own memory and processes are those of all parts.
        shares_host_memory: it has no memory of its own (GB10, Jetson): what is told is the host's, and free is what
            programs could get.
    """

    index: int
    uuid: str
    name: str
    memory: GpuMemory | None
    utilization_percent: int | None = None
    temperature_c: int | None = None
    power_w: float | None = None
    capability: tuple[int, int] | None = None
    processes: tuple[GpuProcess, ...] = ()
    problem: str | None = None
    problem_since: datetime | None = None
    instances: tuple[GpuSnapshot, ...] = ()
    shares_host_memory: bool = False


class GpuProblem(Struct, frozen=True):
    """Why no GPU can be read: a state to show, with what to do about it."""

    what: str
    hint: str


class GpuReading(Struct, frozen=True):
    """All GPUs at one moment.

    Attributes:
        driver: driver version, or None.
        problem: set when there is nothing to read; `gpus` is empty then.
        simulated: the figures come from a simulated machine.
    """

    gpus: tuple[GpuSnapshot, ...] = ()
    driver: str | None = None
    problem: GpuProblem | None = None
    simulated: bool = False


class GpuReader(Protocol):
    """Reads the GPUs of one machine. `read` never raises for a missing or broken driver: it says so."""

    def read(self) -> GpuReading:
        """Take a reading now."""
        ...

    def close(self) -> None:
        """Let go of the driver."""
        ...
