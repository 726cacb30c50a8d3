"""The last minutes of each GPU, in bounded memory: how busy it was, and how full."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from tui.gpu import GpuReading, GpuSnapshot

STEP_S = 15.0
"""What a cell of a plot stands for; it is as high as the largest figure in it."""
MOST_STEPS = 24

Figures = tuple[float | None, float | None]
"""How busy and how full, 0 to 1; None: not told."""
_UNKNOWN: Figures = (None, None)


@dataclass(slots=True)
class _Track:
    """One GPU. A reading is only seen when it differs from the one before, so the newest figures hold until then.

    Attributes:
        steps: number of the step, and the largest figures in it; oldest first.
    """

    newest: Figures = _UNKNOWN
    steps: deque[tuple[int, Figures]] = field(default_factory=lambda: deque(maxlen=MOST_STEPS))

    def note(self, figures: Figures, step: int) -> None:
        if not self.steps:
            self.steps.append((step, figures))
        self.go_on_to(step)
        self.newest = figures
        number, largest = self.steps[-1]
        self.steps[-1] = number, (_larger(largest[0], figures[0]), _larger(largest[1], figures[1]))

    def go_on_to(self, step: int) -> None:
        """Until now nothing was different."""
        first = max(self.steps[-1][0] + 1, step - MOST_STEPS + 1)
        self.steps.extend((number, self.newest) for number in range(first, step + 1))


class GpuHistory:
    """Fed with readings, at least at every change; forgets what is older than its plots, and GPUs that are gone."""

    def __init__(self) -> None:
        self._tracks: dict[str, _Track] = {}

    def note(self, reading: GpuReading, now_s: float) -> None:
        """These are the figures from now on."""
        seen = {gpu.uuid: gpu for gpu in reading.gpus}
        self._tracks = {uuid: self._tracks.get(uuid) or _Track() for uuid in seen}
        for uuid, track in self._tracks.items():
            track.note(_figures(seen[uuid]), int(now_s // STEP_S))

    def lose_sight(self, now_s: float) -> None:
        """Nothing can be read from now on."""
        for track in self._tracks.values():
            track.note(_UNKNOWN, int(now_s // STEP_S))

    def of(self, uuid: str, now_s: float) -> Sequence[Figures]:
        """The figures of the last steps up to now, oldest first; nothing is known from before its first reading."""
        track = self._tracks.get(uuid)
        if track is None:
            return [_UNKNOWN] * MOST_STEPS
        track.go_on_to(int(now_s // STEP_S))
        figures = [figures for _, figures in track.steps]
        return [_UNKNOWN] * (MOST_STEPS - len(figures)) + figures


def _figures(gpu: GpuSnapshot) -> Figures:
    busy = None if gpu.utilization_percent is None else gpu.utilization_percent / 100
    memory = gpu.memory
    full = None if memory is None or not memory.total_bytes else 1 - memory.free_bytes / memory.total_bytes
    return busy, full


def _larger(one: float | None, other: float | None) -> float | None:
    return max((value for value in (one, other) if value is not None), default=None)
