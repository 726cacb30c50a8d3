"""The description of a simulated machine, `DIR/machine.json`. Standard library alone: simulated servers read it too."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

FILE_NAME = "machine.json"
SCHEMA = 1


@dataclass(frozen=True, slots=True)
class SimulatedGpu:
    """One GPU; `reserved_mib` of `total_mib` is kept by driver and firmware and never free."""

    index: int
    uuid: str
    name: str
    total_mib: int
    reserved_mib: int


@dataclass(frozen=True, slots=True)
class ForeignProcess:
    """A process of somebody else on one GPU (by uuid). It exists nowhere but in this file."""

    gpu: str
    pid: int
    user: str
    command: str
    mib: int


@dataclass(frozen=True, slots=True)
class MachineFile:
    """What `machine.json` says.

    Attributes:
        release: the SGLang release that is installed there.
        pace: the scale of all simulated durations; 0 waits for nothing.
    """

    release: str
    driver: str
    pace: float
    gpus: tuple[SimulatedGpu, ...]
    foreign: tuple[ForeignProcess, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """For the file."""
        return {"schema": SCHEMA, **asdict(self)}


def read_machine_file(directory: Path) -> MachineFile:
    """Read `directory/machine.json`.

    Raises:
        OSError: it can't be read.
        ValueError: it isn't the description of a simulated machine (KeyError and TypeError are turned into it).
    """
    raw = json.loads((directory / FILE_NAME).read_bytes())
    try:
        return MachineFile(
            release=raw["release"],
            driver=raw["driver"],
            pace=float(raw["pace"]),
            gpus=tuple(SimulatedGpu(**gpu) for gpu in raw["gpus"]),
            foreign=tuple(ForeignProcess(**process) for process in raw["foreign"]),
        )
    except (KeyError, TypeError) as error:
        raise ValueError(f"not the description of a simulated machine: {error}") from error
