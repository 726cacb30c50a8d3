"""Whether the memory of a launch has come back, told from two readings of its GPUs."""

from __future__ import annotations

from dataclasses import dataclass

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

    def used_gib(self, reading: GpuMemoryReading | None) -> float | None:
        """What is used on the launch's GPUs, all processes together, GiB."""
        if reading is None or not self.gpus or not self._has_all(reading):
            return None
        return round(sum(reading.used_bytes[gpu] for gpu in self.gpus) / _GIB, 2)

    def _has_all(self, reading: GpuMemoryReading) -> bool:
        return all(gpu in reading.used_bytes for gpu in self.gpus)

    def _compare_with_baseline(self, after: GpuMemoryReading) -> bool | None:
        """Where the driver doesn't name our processes, only a GPU as empty as before the launch is a proof."""
        known = all(gpu in self.baseline for gpu in self.gpus)
        if known and all(after.used_bytes.get(gpu, 0) <= self.baseline[gpu] + _TOLERANCE_BYTES for gpu in self.gpus):
            return True
        return None


def _unowned(reading: GpuMemoryReading, gpu: str) -> int:
    """Bytes in use on `gpu` that no listed process holds."""
    return reading.used_bytes[gpu] - sum(held.get(gpu, 0) for held in reading.by_process.values())
