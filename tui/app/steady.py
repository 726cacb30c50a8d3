"""Figures that only tremble are held, so that nothing is drawn when nothing changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import TypeVar

from msgspec import structs

from tui.gpu import GpuReading, GpuSnapshot
from tui.metrics.live import LiveMetrics
from tui.observe import Instance, Snapshot
from tui.units import DAY_S, HOUR_S, MINUTE_S

_CELSIUS, _WATTS, _WATTS_SHARE, _PERCENT = 2, 5.0, 0.03, 3
_PLOT_STEP = timedelta(seconds=15)
_Number = TypeVar("_Number", int, float)


class Steady:
    """Looks at the machine, and shows a temperature, a power and a load as before until they are clearly others.

    Args:
        look: what is shown so; may block, may raise.
    """

    def __init__(self, look: Callable[[], Snapshot]) -> None:
        self._look = look
        self._gpus: Mapping[str, GpuSnapshot] = {}
        self._lives: Mapping[str, LiveMetrics] = {}

    def __call__(self) -> Snapshot:
        """Look now."""
        seen = self._look()
        gpus = tuple(_steady_gpu(gpu, self._gpus.get(gpu.uuid)) for gpu in seen.gpus.gpus)
        instances = tuple(_steady_instance(one, self._lives.get(f"{one.name}/{one.launch}")) for one in seen.instances)
        self._gpus = {gpu.uuid: gpu for gpu in gpus}
        self._lives = {f"{one.name}/{one.launch}": one.live for one in instances if one.live is not None}
        reading: GpuReading = structs.replace(seen.gpus, gpus=gpus)
        return structs.replace(seen, gpus=reading, instances=instances)


def _steady_gpu(new: GpuSnapshot, shown: GpuSnapshot | None) -> GpuSnapshot:
    if shown is None:
        return new
    watts = max(_WATTS, _WATTS_SHARE * (shown.power_w or 0.0))
    percent = new.utilization_percent
    return structs.replace(
        new,
        temperature_c=_held(new.temperature_c, shown.temperature_c, _CELSIUS),
        power_w=_held(new.power_w, shown.power_w, watts),
        # Idle and full mean something: they are never held back, nor is something else taken for them.
        utilization_percent=percent
        if percent in (0, 100) or shown.utilization_percent in (0, 100)
        else _held(percent, shown.utilization_percent, _PERCENT),
    )


def _held(new: _Number | None, shown: _Number | None, step: float) -> _Number | None:
    """What is shown already, unless it differs by a step or more."""
    return shown if new is not None and shown is not None and abs(new - shown) < step else new


def _steady_instance(new: Instance, shown: LiveMetrics | None) -> Instance:
    live = new.live
    if live is not None and shown is not None and _says_the_same(live, shown):
        live = shown
    return structs.replace(new, uptime_s=_whole(new.uptime_s), phase_s=_whole(new.phase_s), live=live)


def _says_the_same(new: LiveMetrics, shown: LiveMetrics) -> bool:
    """The figures are as before, and so short a time has passed that no plot of them goes on."""
    return structs.replace(new, at=shown.at) == shown and new.at - shown.at < _PLOT_STEP


def _whole(seconds: float | None) -> float | None:
    """Whole seconds, minutes or hours: as exact as a duration is written."""
    if seconds is None:
        return None
    unit = 1 if seconds < MINUTE_S else MINUTE_S if seconds < DAY_S else HOUR_S
    return float(seconds // unit * unit)
