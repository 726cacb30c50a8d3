"""The memory of simulated GPUs, as one simulated process sees and holds it."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

from tui.keeper.gpu_memory import read_simulated
from tui.keeper.identity import read_stat
from tui.machine_file import SimulatedGpu

VISIBLE_VARIABLE = "CUDA_VISIBLE_DEVICES"
GIB, MIB = 1 << 30, 1 << 20


class OutOfMemoryError(Exception):
    """An allocation that doesn't fit; the text is PyTorch's."""


class InvalidDeviceError(Exception):
    """A rank asked for a GPU that isn't visible; the text is CUDA's."""


def visible_gpus(gpus: Sequence[SimulatedGpu], variable: str | None) -> tuple[SimulatedGpu, ...]:
    """The GPUs that CUDA_VISIBLE_DEVICES leaves, in its order: by index or uuid, up to the first unknown one."""
    if variable is None:
        return tuple(gpus)
    chosen: list[SimulatedGpu] = []
    for word in variable.split(","):
        gpu = _find(gpus, word.strip())
        if gpu is None:
            break
        chosen.append(gpu)
    return tuple(chosen)


def _find(gpus: Sequence[SimulatedGpu], word: str) -> SimulatedGpu | None:
    if word.isdigit():
        return next((gpu for gpu in gpus if gpu.index == int(word)), None)
    matches = [gpu for gpu in gpus if word.startswith("GPU-") and gpu.uuid.startswith(word)]
    return matches[0] if len(matches) == 1 else None


class Device:
    """One GPU as seen by this process: what is free on it, and what this process holds of it."""

    def __init__(self, directory: Path, ordinal: int, gpu: SimulatedGpu) -> None:
        self.directory = directory
        self._ordinal = ordinal
        self.gpu = gpu
        self._held_bytes = 0
        stat = read_stat(os.getpid())
        start_ticks = stat.start_ticks if stat else 0
        self._path = directory / "held" / f"{os.getpid()}-{start_ticks}.json"

    @property
    def total_bytes(self) -> int:
        """What CUDA calls the total: without the driver's reserve."""
        return (self.gpu.total_mib - self.gpu.reserved_mib) * MIB

    def available_bytes(self) -> int:
        """Free memory now, after everybody's holdings."""
        used = read_simulated(self.directory).used_bytes.get(self.gpu.uuid, 0)
        return self.total_bytes - used

    def available_gib(self) -> float:
        """As SGLang logs it (`avail mem=… GB`)."""
        return self.available_bytes() / GIB

    def allocate(self, size_bytes: int) -> None:
        """Hold more.

        Raises:
            OutOfMemoryError: there isn't that much left.
        """
        if size_bytes > self.available_bytes():
            raise OutOfMemoryError(self.describe_shortage(size_bytes))
        self._held_bytes += size_bytes
        self._write()

    def free(self, size_bytes: int) -> None:
        """Hold less."""
        self._held_bytes -= size_bytes
        self._write()

    def _write(self) -> None:
        temporary = self._path.with_suffix(".tmp")
        temporary.write_text(json.dumps({self.gpu.uuid: self._held_bytes}))
        temporary.replace(self._path)

    def describe_shortage(self, size_bytes: int) -> str:
        """PyTorch's text for an allocation that failed, also for one that was made to fail."""
        free = max(self.available_bytes(), 0)
        if free >= size_bytes:
            free = size_bytes // 3
        others = "".join(
            f"Process {pid} has {_size(held[self.gpu.uuid])} memory in use. "
            for pid, held in read_simulated(self.directory).by_process.items()
            if pid != os.getpid() and held.get(self.gpu.uuid)
        )
        own = _size(self._held_bytes)
        return (
            f"CUDA out of memory. Tried to allocate {_size(size_bytes)}. GPU {self._ordinal} has a total capacity of "
            f"{_size(self.total_bytes)} of which {_size(free)} is free. {others}Including non-PyTorch memory, this "
            f"process has {own} memory in use. Of the allocated memory {own} is allocated by PyTorch, and 31.46 MiB "
            "is reserved by PyTorch but unallocated."
        )


def open_device(directory: Path, gpus: Sequence[SimulatedGpu], ordinal: int) -> Device:
    """The visible GPU with this ordinal.

    Raises:
        InvalidDeviceError: there are fewer.
    """
    visible = visible_gpus(gpus, os.environ.get(VISIBLE_VARIABLE))
    if ordinal >= len(visible):
        raise InvalidDeviceError(
            "CUDA error: invalid device ordinal\nGPU device may be out of range, do you have enough GPUs?"
        )
    return Device(directory, ordinal, visible[ordinal])


def _size(size_bytes: int) -> str:
    """PyTorch's wording of a size."""
    return f"{size_bytes / GIB:.2f} GiB" if size_bytes >= GIB else f"{size_bytes / MIB:.2f} MiB"
