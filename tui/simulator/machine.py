"""Makes a simulated machine: a folder with GPUs, an interpreter that has SGLang, and room for what servers hold.

    machine = create_machine(Path("~/demo").expanduser(), release="0.5.23")
    subprocess.Popen([machine.python, "-m", "sglang.launch_server", "--model-path", "Qwen/Qwen3-0.6B"])

Product code uses such a machine through `SGLTUI_SIMULATED=DIR` and the interpreter `DIR/bin/python`, as it would use
a real one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tui.atomic import write_atomic
from tui.errors import SgltuiError, UsageError
from tui.machine_file import FILE_NAME, ForeignProcess, MachineFile, SimulatedGpu, read_machine_file
from tui.paths import SIMULATED_VARIABLE
from tui.simulator.hub import write_models
from tui.simulator.site import write_interpreter

RELEASES = ("0.5.11", "0.5.23")
_DRIVER = "580.95.05"
_GPU_NAME = "NVIDIA RTX PRO 6000 Blackwell Server Edition"
_GPU_TOTAL_MIB, _GPU_RESERVED_MIB = 97887, 614  # NVML's total of this card, and what leaves 94.99 GiB to CUDA


@dataclass(frozen=True, slots=True)
class Machine:
    """A simulated machine on disk.

    Attributes:
        directory: its folder; everything below lives in it.
        description: its GPUs, its SGLang release, its pace.
    """

    directory: Path
    description: MachineFile

    @property
    def python(self) -> Path:
        """The interpreter that has the simulated SGLang."""
        return self.directory / "bin" / "python"

    @property
    def sglang(self) -> Path:
        """The console script `sglang`."""
        return self.directory / "bin" / "sglang"

    @property
    def release(self) -> str:
        """The SGLang release that is installed."""
        return self.description.release

    @property
    def gpus(self) -> tuple[SimulatedGpu, ...]:
        """Its GPUs."""
        return self.description.gpus

    @property
    def held(self) -> Path:
        """Where simulated processes write what they hold."""
        return self.directory / "held"

    def environ(self) -> dict[str, str]:
        """This process's environment, pointed at this machine."""
        return {**os.environ, SIMULATED_VARIABLE: str(self.directory)}

    def add_ghost(self, name: str, gpu_uuid: str, size_bytes: int) -> Path:
        """Let memory be held by nobody, until the returned file is deleted."""
        path = self.held / f"ghost-{name}.json"
        write_atomic(path, json.dumps({gpu_uuid: size_bytes}).encode())
        return path


def default_gpus() -> tuple[SimulatedGpu, ...]:
    """Two 96 GB workstation cards."""
    return tuple(make_gpu(index) for index in range(2))


def make_gpu(
    index: int,
    name: str = _GPU_NAME,
    total_mib: int = _GPU_TOTAL_MIB,
    reserved_mib: int = _GPU_RESERVED_MIB,
) -> SimulatedGpu:
    """A GPU with a uuid of the usual shape, the same each time for the same index."""
    return SimulatedGpu(index, f"GPU-51a7c0de-0000-4000-8000-{index:012x}", name, total_mib, reserved_mib)


def create_machine(
    directory: Path,
    *,
    release: str = "0.5.11",
    gpus: Sequence[SimulatedGpu] | None = None,
    foreign: Sequence[ForeignProcess] = (),
    pace: float = 1.0,
) -> Machine:
    """Make a simulated machine in `directory`, or open the one that is there already.

    Raises:
        UsageError: no recording of that SGLang release exists.
        SgltuiError: the folder holds something else, or can't be written.
    """
    if release not in RELEASES:
        raise UsageError(f"SGLang {release} can't be simulated", f"choose {' or '.join(RELEASES)}")
    directory = directory.absolute()
    if (directory / FILE_NAME).exists():
        return open_machine(directory)
    chosen = tuple(default_gpus() if gpus is None else gpus)
    description = MachineFile(release, _DRIVER, pace, chosen, tuple(foreign))
    try:
        _write(directory, description)
    except OSError as error:
        raise SgltuiError(f"can't make a simulated machine in {directory}: {error.strerror}") from error
    return Machine(directory, description)


def open_machine(directory: Path) -> Machine:
    """The simulated machine in `directory`; its interpreter is written anew, since this package may have moved.

    Raises:
        SgltuiError: there is none, or its description can't be understood.
    """
    directory = directory.absolute()
    try:
        description = read_machine_file(directory)
        write_interpreter(directory, description.release)
        write_models(directory / "hub")
    except (OSError, ValueError) as error:
        raise SgltuiError(
            f"no simulated machine in {directory}: {error}", "name another folder, or remove this one"
        ) from error
    return Machine(directory, description)


def _write(directory: Path, description: MachineFile) -> None:
    for name in ("held", "busy", "state", "config", "bin", "site"):
        (directory / name).mkdir(parents=True, exist_ok=True)
    write_interpreter(directory, description.release)
    write_models(directory / "hub")
    # Last, so that a folder with this file is a whole machine.
    write_atomic(directory / FILE_NAME, json.dumps(description.as_json(), indent=1).encode() + b"\n")
