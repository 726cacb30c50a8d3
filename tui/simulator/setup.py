"""What the processes of one simulated server know in common."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tui.machine_file import MachineFile
from tui.simulator.clock import Clock
from tui.simulator.log import Log
from tui.simulator.models import Model
from tui.simulator.release import read_traceback
from tui.simulator.switches import Switches

OLD_RELEASE = "0.5.11"


@dataclass(frozen=True, slots=True)
class Setup:
    """One server.

    Attributes:
        directory: the simulated machine.
        args: resolved arguments, by the release's names.
    """

    directory: Path
    machine: MachineFile
    args: dict[str, Any]
    model: Model

    @property
    def release(self) -> str:
        """The SGLang release that is simulated."""
        return self.machine.release

    @property
    def is_old(self) -> bool:
        """It behaves like 0.5.11, not like 0.5.23."""
        return self.release == OLD_RELEASE

    def traceback(self, name: str, error: str = "") -> str:
        """See `traceback_text`."""
        return traceback_text(self.directory, self.release, name, error)

    @property
    def graph_batches(self) -> list[int]:
        """Batch sizes of the decode graphs, ascending."""
        args = self.args
        batches: list[int] = args["cuda_graph_bs"] if self.is_old else args["cuda_graph_config"]["decode"]["bs"]
        return batches


@dataclass(frozen=True, slots=True)
class Context:
    """What one process of a server works with."""

    setup: Setup
    clock: Clock
    log: Log
    switches: Switches


def traceback_text(directory: Path, release: str, name: str, error: str = "") -> str:
    """A recorded traceback of the release, ending in `error` (or in its own), as if raised on this machine."""
    frames = read_traceback(release, name)
    site, stdlib = str(directory / "site"), str(Path(os.__file__).parent)
    return frames.replace("{site}", site).replace("{stdlib}", stdlib) + (error and f"{error}\n")
