"""Whether the memory of a launch has come back, told from two readings of its GPUs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tui.keeper import procfs
from tui.keeper.gpu_memory import GpuMemoryReading

_GIB = 1 << 30
# Drivers and other processes breathe a little; the context of a server alone is larger than this.
_TOLERANCE_BYTES = 256 << 20


@dataclass(frozen=True)
class Release:
    """What to compare with.

    Attributes:
        gpus: uuids of the launch's GPUs; empty when it ran without.
        before: the reading when the stop began.
        baseline: used bytes by GPU before the launch, if that was recorded.
        members: pids of everything that belonged to the launch.
    """

    gpus: list[str]
    before: GpuMemoryReading | None
    baseline: dict[str, int]
    members: frozenset[int]

    def check(self, after: GpuMemoryReading | None) -> bool | None:
        """True: all is back. False: it isn't yet. None: nobody can tell here."""
        if not self.gpus:
            return True
        if self.before is None or after is None or not self._has_all(self.before) or not self._has_all(after):
            return None  # a GPU that can't be read any more proves nothing
        if self.members & set(after.by_process):
            return False
        if not self.members & set(self.before.by_process):
            return self._compare_with_baseline(after)
        # A killed process that left the list while its memory is still taken shows as memory without an owner.
        # Other processes may grow and shrink meanwhile.
        return all(_unowned(after, gpu) <= _unowned(self.before, gpu) + _TOLERANCE_BYTES for gpu in self.gpus)

    def holders(self, after: GpuMemoryReading) -> dict[int | None, int]:
        """Bytes on the launch's GPUs by members that still hold some, and (None) what has lost its owner."""
        held = {
            pid: sum(by_gpu.get(gpu, 0) for gpu in self.gpus)
            for pid, by_gpu in after.by_process.items()
            if pid in self.members
        }
        lost = sum(self._held(after, gpu) for gpu in self.gpus if gpu in after.used_bytes) - sum(held.values())
        found: dict[int | None, int] = {pid: size_bytes for pid, size_bytes in held.items() if size_bytes}
        return {**found, None: lost} if lost > 0 else found

    def may_still_come(self, after: GpuMemoryReading | None) -> bool:
        """Looking again may tell more: not all is back, and there is a way to see it coming."""
        released = self.check(after)
        if released is None:
            return after is not None and self._has_all(after) and all(gpu in self.baseline for gpu in self.gpus)
        return not released

    def held_gib(self, reading: GpuMemoryReading | None) -> float | None:
        """What the launch holds on its GPUs at a reading: its members, and memory that lost its owner since.

        None where that can't be told.
        """
        if reading is None or self.before is None or not self.gpus:
            return None
        if not self._has_all(reading) or not self._has_all(self.before):
            return None
        if self.members & set(self.before.by_process):
            held = sum(self._held(reading, gpu) for gpu in self.gpus)
        elif all(gpu in self.baseline for gpu in self.gpus):
            held = sum(max(0, reading.used_bytes[gpu] - self.baseline[gpu]) for gpu in self.gpus)
        else:
            return None
        return round(held / _GIB, 2)

    def _held(self, reading: GpuMemoryReading, gpu: str) -> int:
        by_members = sum(held.get(gpu, 0) for pid, held in reading.by_process.items() if pid in self.members)
        lost = _unowned(reading, gpu) - _unowned(self.before, gpu) if self.before is not None else 0
        return by_members + (lost if lost > _TOLERANCE_BYTES else 0)

    def _has_all(self, reading: GpuMemoryReading) -> bool:
        return all(gpu in reading.used_bytes for gpu in self.gpus)

    def _compare_with_baseline(self, after: GpuMemoryReading) -> bool | None:
        """Where the driver doesn't name our processes, only a GPU as empty as before the launch is a proof."""
        known = all(gpu in self.baseline for gpu in self.gpus)
        if known and all(after.used_bytes.get(gpu, 0) <= self.baseline[gpu] + _TOLERANCE_BYTES for gpu in self.gpus):
            return True
        return None


def describe_holders(release: Release, after: GpuMemoryReading | None) -> list[dict[str, Any]]:
    """`pid`, `user`, `command` and `gib` of who still holds memory of the launch; nulls for memory without an owner."""
    holders = release.holders(after) if after is not None else {}
    return [
        {
            "pid": pid,
            "user": None if pid is None else procfs.user(pid),
            "command": None if pid is None else procfs.shown_command(pid) or None,
            "gib": round(size_bytes / _GIB, 2),
        }
        for pid, size_bytes in holders.items()
    ]


def _unowned(reading: GpuMemoryReading, gpu: str) -> int:
    """Bytes in use on `gpu` that no listed process holds."""
    return reading.used_bytes[gpu] - sum(held.get(gpu, 0) for held in reading.by_process.values())
