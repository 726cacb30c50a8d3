"""Reads the GPUs of a simulated machine: its description, and what live simulated processes say they hold."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from tui.gpu import GpuMemory, GpuProblem, GpuProcess, GpuReading, GpuSnapshot
from tui.gpu.capability import capability_of
from tui.gpu.processes import describe_process
from tui.keeper.gpu_memory import GpuMemoryReading, read_simulated
from tui.machine_file import MachineFile, SimulatedGpu, read_machine_file
from tui.units import MIB

# Plausible figures of a 600 W workstation card; all that matters is that they follow from what is held.
_IDLE_C, _FULL_C, _BUSY_C = 38, 8, 24
_IDLE_W, _FULL_W, _BUSY_W = 80.0, 15.0, 410.0
_BUSY_PERCENT = 97


class SimulatedReader(Struct, frozen=True):
    """A `GpuReader` of the simulated machine in `directory`."""

    directory: Path

    def read(self) -> GpuReading:
        """Take a reading now; a missing or broken description is a problem to show."""
        try:
            machine = read_machine_file(self.directory)
            held = read_simulated(self.directory)
        except (OSError, ValueError) as error:
            problem = GpuProblem(f"no simulated machine in {self.directory}: {error}", "make one with `sgltui demo`")
            return GpuReading(problem=problem, simulated=True)
        busy = _busy_gpus(self.directory, held)
        gpus = tuple(_snapshot(gpu, machine, held, gpu.uuid in busy) for gpu in machine.gpus)
        return GpuReading(gpus=gpus, driver=machine.driver, simulated=True)

    def close(self) -> None:
        """Nothing is kept open."""


def _snapshot(gpu: SimulatedGpu, machine: MachineFile, held: GpuMemoryReading, busy: bool) -> GpuSnapshot:
    total, reserved = gpu.total_mib * MIB, gpu.reserved_mib * MIB
    used = held.used_bytes.get(gpu.uuid, 0)
    share = used / total
    return GpuSnapshot(
        index=gpu.index,
        uuid=gpu.uuid,
        name=gpu.name,
        memory=GpuMemory(total, used, total - reserved - used, reserved),
        utilization_percent=_BUSY_PERCENT if busy else 0,
        temperature_c=round(_IDLE_C + _FULL_C * share + _BUSY_C * busy),
        power_w=round(_IDLE_W + _FULL_W * share + _BUSY_W * busy, 1),
        capability=capability_of(gpu.name),
        processes=_processes(gpu.uuid, machine, held),
    )


def _processes(uuid: str, machine: MachineFile, held: GpuMemoryReading) -> tuple[GpuProcess, ...]:
    """Who holds memory of one GPU, by pid. Foreign ones exist only in the description, so it names them."""
    foreign = {process.pid: (process.user, process.command) for process in machine.foreign}
    found = []
    for pid, by_gpu in sorted(held.by_process.items()):
        if by_gpu.get(uuid):
            user, command = foreign[pid] if pid in foreign else describe_process(pid)
            found.append(GpuProcess(pid, by_gpu[uuid], user, command))
    return tuple(found)


def _busy_gpus(directory: Path, held: GpuMemoryReading) -> set[str]:
    """GPUs of live processes that serve a request: they say so by a file named after them in `busy/`."""
    pids = {int(path.name) for path in (directory / "busy").glob("[0-9]*")}
    return {uuid for pid in pids & held.by_process.keys() for uuid in held.by_process[pid]}
