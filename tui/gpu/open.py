"""Which GPUs are meant: this machine's, or a simulated machine's."""

from __future__ import annotations

from tui.gpu import GpuReader
from tui.paths import Places


def open_reader(places: Places) -> GpuReader:
    """A reader for the GPUs of `places`; nothing is touched before its first `read`."""
    if places.simulated is not None:
        from tui.gpu.simulated import SimulatedReader  # noqa: PLC0415 - each reader loads only what it needs

        return SimulatedReader(places.simulated)
    from tui.gpu.nvml import NvmlReader  # noqa: PLC0415 - pynvml alone costs about 20 ms of a start

    return NvmlReader()
