"""What a server holds on its GPUs: as the driver names it, or by difference where it numbers processes otherwise."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.launches import make_launch
from tui.gpu import GpuMemory, GpuProcess, GpuReading, GpuSnapshot
from tui.keeper.identity import identify
from tui.keeper.states import State
from tui.launch.records import GivenGpu
from tui.observe import Observer
from tui.paths import Places
from tui.units import GIB

GPU = "GPU-1"


class OneGpu:
    """A GPU with these bytes in use, and these processes in the driver's list."""

    def __init__(self, used_bytes: int, *processes: GpuProcess) -> None:
        memory = GpuMemory(80 * GIB, used_bytes, 80 * GIB - used_bytes, 0)
        self._gpu = GpuSnapshot(0, GPU, "a GPU", memory, processes=processes)

    def read(self) -> GpuReading:
        return GpuReading((self._gpu,))

    def close(self) -> None: ...


@pytest.mark.parametrize(
    ("processes", "share"),
    [
        # The driver names us: that counts, whatever else there is.
        ([GpuProcess(os.getpid(), 30 * GIB, "me", "python")], (30 * GIB, False)),
        # It names a process of another pid namespace, whom nobody here knows: 50 in use now, 10 before the start.
        ([GpuProcess(7, 30 * GIB, None, None)], (40 * GIB, True)),
        # A known process holds most of it.
        ([GpuProcess(8, 45 * GIB, "bob", "python train.py")], (5 * GIB, True)),
        ([GpuProcess(8, 50 * GIB, "bob", "python train.py")], (0, False)),
    ],
)
def test_the_share_of_a_server(tmp_path: Path, processes: list[GpuProcess], share: tuple[int, bool]) -> None:
    places = Places(tmp_path / "state", tmp_path / "config")
    records = make_launch(places, gpus=[GivenGpu(0, GPU, "a GPU")])
    me = identify(os.getpid())
    assert me is not None
    records.note(gpu_used_at_start={GPU: 10 * GIB})
    records.move(State.STARTING, server=me.as_json(), members=[me.as_json()])
    [instance] = Observer(places, OneGpu(50 * GIB, *processes)).observe().instances
    assert (instance.memory_bytes, instance.memory_by_difference) == share
