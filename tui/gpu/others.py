"""Whose memory of a GPU it is: some processes' own, or others'."""

from __future__ import annotations

from collections.abc import Collection

from tui.gpu import GpuSnapshot


def held_by_others(gpu: GpuSnapshot, own: Collection[int]) -> int:
    """Bytes in use that aren't held by the processes `own`.

    Where the driver names no amounts for one of them, everything in use is taken for theirs.
    """
    if gpu.memory is None or not knows_share(gpu, own):
        return 0
    ours = sum(process.used_bytes or 0 for process in gpu.processes if process.pid in own)
    return max(0, gpu.memory.used_bytes - ours)


def knows_share(gpu: GpuSnapshot, own: Collection[int]) -> bool:
    """The driver tells what each of these processes holds."""
    return all(process.used_bytes is not None for process in gpu.processes if process.pid in own)
