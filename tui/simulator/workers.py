"""The entry points of the child processes: one scheduler a rank, and the detokenizer."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from multiprocessing.connection import Connection
from pathlib import Path

from tui.simulator.clock import Clock, make_clock
from tui.simulator.graphs import CaptureError
from tui.simulator.log import Log
from tui.simulator.memory import InvalidDeviceError, OutOfMemoryError, open_device
from tui.simulator.pools import PoolError
from tui.simulator.serving import Batch, DeviceFaultError
from tui.simulator.setup import Context, Setup, traceback_text
from tui.simulator.startup import DistributedError, Startup, log_tokenizer
from tui.simulator.switches import read_switches
from tui.simulator.title import die_with_parent, set_title

_IMPORT_S, _DETOKENIZER_IMPORT_S = 2.5, 2.7
# How the real exceptions are called, and which recorded frames lead to them.
_EXCEPTIONS: dict[type[Exception], tuple[str, str]] = {
    OutOfMemoryError: ("torch.OutOfMemoryError", "start"),
    InvalidDeviceError: ("torch.AcceleratorError", "start"),
    DistributedError: ("torch.distributed.DistBackendError", "start"),
    CaptureError: ("Exception", "start"),
    DeviceFaultError: ("torch.AcceleratorError", "start"),
    BrokenPipeError: ("BrokenPipeError", "broken-pipe"),
}


def run_scheduler(setup: Setup, rank: int, report: Connection, requests: Connection | None) -> None:
    """One rank: start, report readiness through `report`, serve what comes through `requests` (rank 0 alone)."""
    clock = make_clock(setup.machine.pace)
    _become(clock, _IMPORT_S, "sglang::scheduler" + (f"_TP{rank}" if setup.args["tp_size"] > 1 else ""))
    log = Log(f" TP{rank}" if setup.args["tp_size"] > 1 else "")
    try:
        _start_and_serve(Context(setup, clock, log, read_switches()), rank, report, requests)
    except Exception as error:  # noqa: BLE001 - as the real one: whatever happens is logged and told to the parent
        log.line(f"Scheduler hit an exception: {_describe(setup, error)}")
        _signal_parent()


def run_detokenizer(setup: Setup) -> None:
    """Wait for nothing: the detokenizer's work isn't simulated, its being there is."""
    _become(make_clock(setup.machine.pace), _DETOKENIZER_IMPORT_S, "sglang::detokenizer")
    log_tokenizer(setup, Log())
    while True:
        signal.pause()


def _become(clock: Clock, import_s: float, title: str) -> None:
    """Until its imports are done, a child is an unnamed Python that outlives its parent."""
    clock.pause(import_s)
    die_with_parent()
    set_title(title)


def _start_and_serve(context: Context, rank: int, report: Connection, requests: Connection | None) -> None:
    setup, args = context.setup, context.setup.args
    device = open_device(setup.directory, setup.machine.gpus, args["base_gpu_id"] + rank * args["gpu_id_step"])
    outcome = Startup(context, rank, device).run()
    report.send(outcome)
    if requests is None:
        while True:
            time.sleep(3600)
    Batch(context, requests, outcome.pools.tokens).serve()


def _describe(setup: Setup, error: Exception) -> str:
    if isinstance(error, PoolError):
        name, frames = error.kind, "memory-pool"
    else:
        name, frames = _EXCEPTIONS.get(type(error), (type(error).__name__, "start"))
    return traceback_text(setup.directory, setup.release, frames, f"{name}: {error}")


def _signal_parent() -> None:
    """SIGQUIT to the parent. A real orphan sends it to whoever adopted it; here, only a keeper gets it then.

    Anybody else, such as the user's session manager, might die of it.
    """
    parent = os.getppid()
    main = multiprocessing.parent_process()
    if (main is not None and main.pid == parent) or _is_keeper(parent):
        os.kill(parent, signal.SIGQUIT)


def _is_keeper(pid: int) -> bool:
    try:
        return b"tui.keeper" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
