"""The main process of a simulated server: `python -m sglang.launch_server` or `sglang serve`."""

from __future__ import annotations

import errno
import os
import shlex
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from tui.machine_file import MachineFile, read_machine_file
from tui.simulator.arguments import dump, parse_arguments, resolve
from tui.simulator.clock import make_clock
from tui.simulator.ending import forget_the_dead, kill_tree
from tui.simulator.engine import Engine
from tui.simulator.facts import Facts
from tui.simulator.log import Log
from tui.simulator.memory import VISIBLE_VARIABLE, visible_gpus
from tui.simulator.models import find_model
from tui.simulator.release import read_recording
from tui.simulator.setup import Context, Setup, traceback_text
from tui.simulator.startup import Outcome, log_tokenizer
from tui.simulator.switches import read_switches
from tui.simulator.tree import SchedulerDiedError, Tree

_IMPORT_S = 3.0
_STARTUP_FAILED = 3  # uvicorn's exit status when it can't listen
_WARNING_LINE = {"0.5.11": 54, "0.5.23": 71}
_PHASES = ("prefill", "decode", "target_verify", "draft_prefill", "draft_decode", "draft_extend")


def main(argv: Sequence[str], as_module: str | None = None) -> int:
    """Be a server. `as_module` is the file of `sglang.launch_server` when it was started that way."""
    started = time.monotonic()
    directory = Path(os.environ["SGLTUI_SIMULATED"])
    machine = read_machine_file(directory)
    clock, log = make_clock(machine.pace), Log()
    if as_module is not None:
        log.raw(
            f"{as_module}:{_WARNING_LINE[machine.release]}: UserWarning: 'python -m sglang.launch_server' is still "
            "supported, but 'sglang serve' is the recommended entrypoint.\n"
            "  Example: sglang serve --model-path <model> [options]\n  warnings.warn(\n"
        )
    clock.pause(_IMPORT_S)
    setup = _prepare(directory, machine, argv, log)
    if setup is None:
        return 1
    return _Server(Context(setup, clock, log, read_switches()), argv, started).run()


def _prepare(directory: Path, machine: MachineFile, argv: Sequence[str], log: Log) -> Setup | None:
    """Read the arguments; None when the model or the GPU isn't there, and that was said."""
    given = parse_arguments(machine.release, argv)
    gpus = visible_gpus(machine.gpus, os.environ.get(VISIBLE_VARIABLE))
    if not gpus:
        log.raw(traceback_text(directory, machine.release, "no-gpu"))
        return None
    if _is_missing(given["model_path"]):
        log.raw(traceback_text(directory, machine.release, "no-model"))
        return None
    model = find_model(given["model_path"])
    args = resolve(machine.release, read_recording(machine.release)["server_args"], given, gpus[0], model)
    _warn(machine.release, given, log)
    log.line(dump(machine.release, args))
    return Setup(directory, machine, args, model)


def _is_missing(path: str) -> bool:
    """A local path that isn't there; anything else is taken for a name of the hub, where everything is found."""
    return path.startswith(("/", "./", "../", "~")) and not Path(path).expanduser().exists()


def _warn(release: str, given: dict[str, object], log: Log) -> None:
    if release != "0.5.11" and "disable_cuda_graph" in given:
        log.line(
            "\x1b[1;33m'--disable-cuda-graph' is deprecated and will be removed in a future release. Use "
            "'--cuda-graph-backend-{decode,prefill}=disabled' instead.\x1b[0m"
        )
    if given.get("speculative_algorithm") and not given.get("max_running_requests"):
        log.line(
            "Max running requests is reset to 48 for speculative decoding. You can override this by explicitly "
            "setting --max-running-requests."
        )


class _Server:
    """One start, from the first child to the exit status."""

    def __init__(self, context: Context, argv: Sequence[str], started: float) -> None:
        self._context = context
        self._setup = context.setup
        self._log = context.log
        self._argv = argv
        self._started = started

    def run(self) -> int:
        """Start everything, then serve."""
        forget_the_dead(self._setup.directory)
        signal.signal(signal.SIGQUIT, self._die_of_child)
        tree = Tree(self._setup)
        log_tokenizer(self._setup, self._log)
        self._log.line("Using default HuggingFace chat template with detected content format: string")
        try:
            outcome = tree.wait_until_ready()[0]
        except SchedulerDiedError as error:
            self._log.line(str(error))
            kill_tree(self._context, include_self=False)
            return 1
        return self._serve(tree, outcome)

    def _die_of_child(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        self._log.line("Received sigquit from a child process. It usually means the child failed.")
        kill_tree(self._context, include_self=True)

    def _serve(self, tree: Tree, outcome: Outcome) -> int:
        # http.server alone costs a third of a start; the children never need it.
        from tui.simulator.lifecycle import Lifecycle  # noqa: PLC0415 - see above
        from tui.simulator.web import Web  # noqa: PLC0415 - see above

        seconds = time.monotonic() - self._started
        self._log_timings(outcome, seconds)
        self._log.uvicorn(f"Started server process [{os.getpid()}]")
        self._log.uvicorn("Waiting for application startup.")
        self._log.uvicorn("Application startup complete.")
        engine = Engine(tree.requests)
        facts = Facts(self._setup, outcome, engine, shlex.join(self._argv), seconds)
        try:
            web = Web(self._context, facts, engine)
        except OSError as error:
            return self._fail_to_bind(error)
        return Lifecycle(self._context, tree, engine, web).run()

    def _log_timings(self, outcome: Outcome, seconds: float) -> None:
        if self._setup.is_old:
            return
        times = outcome.timings
        names = ("load_weight", "kv_cache_allocation", "scheduler_e2e")
        main = ", ".join(f"{name}={times[name]:.2f}" for name in names)
        graphs = ", ".join(f"{phase}={times.get(phase, 0.0):.2f}" for phase in _PHASES)
        self._log.line(f"Engine startup timings (s): {main}, cuda_graph={{{graphs}}}, tokenizer_e2e={seconds:.2f}")

    def _fail_to_bind(self, error: OSError) -> int:
        """The port is taken. The warm-up goes on all the same, and may meet whoever has it."""
        from tui.simulator.warmup import WarmupError, warm_up  # noqa: PLC0415 - see `_serve`

        address = (self._setup.args["host"], self._setup.args["port"])
        reason = os.strerror(error.errno or errno.EADDRINUSE).lower()
        self._log.uvicorn(
            f"[Errno {error.errno}] error while attempting to bind on address {address!r}: {reason}", "ERROR"
        )
        self._log.uvicorn("Waiting for application shutdown.")
        try:
            warm_up(self._context)
        except WarmupError as failure:
            self._log.line(f"Initialization failed. warmup error: {failure}")
            kill_tree(self._context, include_self=True)
        self._log.line("The server is fired up and ready to roll!")
        self._log.uvicorn("Application shutdown complete.")
        kill_tree(self._context, include_self=False)
        return _STARTUP_FAILED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
