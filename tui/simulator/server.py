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

from tui.machine_file import read_machine_file
from tui.simulator.children import ChildDiedError
from tui.simulator.clock import make_clock
from tui.simulator.ending import forget_the_dead, kill_tree, log_kill
from tui.simulator.engine import Engine
from tui.simulator.facts import Facts
from tui.simulator.log import Log
from tui.simulator.preparation import UncaughtError, prepare
from tui.simulator.setup import Context, traceback_text
from tui.simulator.startup import Outcome, log_tokenizer
from tui.simulator.switches import SwitchError, read_switches
from tui.simulator.tree import Tree

_IMPORT_S = 3.0
_WRONG_USAGE = 2
_STARTUP_FAILED = 3  # uvicorn's exit status when it can't listen
_WARNING_LINE = {"0.5.11": 54, "0.5.23": 71}
_PHASES = ("prefill", "decode", "target_verify", "draft_prefill", "draft_decode", "draft_extend")


def main(argv: Sequence[str], as_module: str | None = None) -> int:
    """Be a server. `as_module` is the file of `sglang.launch_server` when it was started that way."""
    started = time.monotonic()
    directory = Path(os.environ["SGLTUI_SIMULATED"])
    machine = read_machine_file(directory)
    clock, log = make_clock(machine.pace), Log()
    try:
        switches = read_switches()
    except SwitchError as error:
        log.raw(f"{error}\n")
        return _WRONG_USAGE
    if as_module is not None:
        log.raw(
            f"{as_module}:{_WARNING_LINE[machine.release]}: UserWarning: 'python -m sglang.launch_server' is still "
            "supported, but 'sglang serve' is the recommended entrypoint.\n"
            "  Example: sglang serve --model-path <model> [options]\n  warnings.warn(\n"
        )
    clock.pause(_IMPORT_S)
    if switches.strike("args"):
        argv = [*argv, "--no-such-flag", "3"]
    try:
        setup = prepare(directory, machine, argv, log, switches)
    except UncaughtError as error:
        log_kill(log, machine.release, include_self=False)
        log.raw(traceback_text(directory, machine.release, str(error)))
        return 1
    return _Server(Context(setup, clock, log, switches), argv, started).run()


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
            outcome = tree.wait_until_ready()
        except ChildDiedError as error:
            kill_tree(self._context, include_self=False)
            self._log.raw(self._setup.traceback("died", f"RuntimeError: {error}"))
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
