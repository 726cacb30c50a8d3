"""What the main process does before it has children: it reads its command line, and says what it makes of it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tui.machine_file import MachineFile
from tui.simulator.arguments import dump, parse_arguments, resolve
from tui.simulator.log import Log
from tui.simulator.memory import VISIBLE_VARIABLE, visible_gpus
from tui.simulator.models import find_model
from tui.simulator.release import read_recording
from tui.simulator.setup import OLD_RELEASE, Setup
from tui.simulator.switches import Switches


class UncaughtError(Exception):
    """The main process ends before it has children; the text is the name of a recorded traceback."""


def prepare(directory: Path, machine: MachineFile, argv: Sequence[str], log: Log, switches: Switches) -> Setup:
    """Read the arguments.

    Raises:
        UncaughtError: the model or the GPU isn't there.
    """
    given = parse_arguments(machine.release, argv)
    _warn_of_flags(machine.release, given, log)
    gpus = visible_gpus(machine.gpus, os.environ.get(VISIBLE_VARIABLE))
    if not gpus:
        raise UncaughtError("no-gpu")
    if _is_missing(given["model_path"]):
        raise UncaughtError("no-model")
    if switches.fail == "import":
        raise UncaughtError("import")
    model = find_model(given["model_path"])
    args = resolve(machine.release, read_recording(machine.release)["server_args"], given, gpus[0], model)
    _warn_of_requests(given, log)
    log.line(dump(machine.release, args))
    return Setup(directory, machine, args, model)


def _is_missing(path: str) -> bool:
    """A local path that isn't there; anything else is taken for a name of the hub, where everything is found."""
    return path.startswith(("/", "./", "../", "~")) and not Path(path).expanduser().exists()


def _warn_of_flags(release: str, given: dict[str, Any], log: Log) -> None:
    if release != OLD_RELEASE and "disable_cuda_graph" in given:
        log.line(
            "\x1b[1;33m'--disable-cuda-graph' is deprecated and will be removed in a future release. Use "
            "'--cuda-graph-backend-{decode,prefill}=disabled' instead.\x1b[0m"
        )
    if given.get("pp_size", 1) > 1:
        log.line("Pipeline parallelism is incompatible with overlap schedule.")


def _warn_of_requests(given: dict[str, Any], log: Log) -> None:
    if given.get("speculative_algorithm") and not given.get("max_running_requests"):
        log.line(
            "Max running requests is reset to 48 for speculative decoding. You can override this by explicitly "
            "setting --max-running-requests."
        )
