"""The entry points of the child processes: one scheduler a rank, and the detokenizer."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path

from tui.simulator.clock import Clock, make_clock
from tui.simulator.graphs import CaptureError
from tui.simulator.log import Log
from tui.simulator.memory import InvalidDeviceError, OutOfMemoryError, open_device
from tui.simulator.orphan import leave_orphan
from tui.simulator.pools import PoolError
from tui.simulator.ranks import Rank
from tui.simulator.serving import ActivationError, Batch, DeviceFaultError
from tui.simulator.setup import Context, Setup
from tui.simulator.startup import DistributedError, DownloadError, Startup, log_tokenizer
from tui.simulator.switches import read_switches
from tui.simulator.title import die_with_parent, set_title

IMPORT_S = 2.5
_DETOKENIZER_IMPORT_S = 2.7
# How the real exceptions are called, and which recorded frames lead to them.
_EXCEPTIONS: dict[type[Exception], tuple[str, str]] = {
    OutOfMemoryError: ("torch.OutOfMemoryError", "start"),
    InvalidDeviceError: ("torch.AcceleratorError", "start"),
    DistributedError: ("torch.distributed.DistBackendError", "start"),
    CaptureError: ("Exception", "start"),
    ActivationError: ("torch.OutOfMemoryError", "runtime"),
    DeviceFaultError: ("torch.AcceleratorError", "runtime"),
    BrokenPipeError: ("BrokenPipeError", "broken-pipe"),
}


def run_scheduler(setup: Setup, rank: Rank, requests: Connection | None, report: Connection) -> None:
    """One rank: start, report through `report` that it is ready, serve what comes through `requests` if it gets any."""
    clock = make_clock(setup.machine.pace)
    become(clock, IMPORT_S, rank.title)
    log = Log(rank.tag)
    try:
        _start_and_serve(Context(setup, clock, log, read_switches()), rank, requests, report)
    except Exception as error:  # noqa: BLE001 - as the real one: whatever happens is logged and told to the parent
        log.line(f"Scheduler hit an exception: {_describe(setup, error)}")
        _signal_parent()


def run_detokenizer(setup: Setup, report: Connection) -> None:
    """Say that it is there, and wait for nothing: its work isn't simulated."""
    become(make_clock(setup.machine.pace), _DETOKENIZER_IMPORT_S, "sglang::detokenizer")
    log_tokenizer(setup, Log())
    with suppress(OSError):  # a parent that died meanwhile: the real one stays as well
        report.send(None)
    while True:
        signal.pause()


def become(clock: Clock, import_s: float, title: str) -> None:
    """Until its imports are done, a child is an unnamed Python that outlives its parent."""
    read_switches().hang_at("import")
    clock.pause(import_s)
    die_with_parent()
    set_title(title)


def _start_and_serve(context: Context, rank: Rank, requests: Connection | None, report: Connection) -> None:
    device = open_device(context.setup.directory, context.setup.machine.gpus, rank.gpu)
    outcome = Startup(context, rank, device).run()
    report.send(outcome)
    if requests is None:
        while True:
            time.sleep(3600)
    if context.switches.orphan:
        leave_orphan(device)
    Batch(context, requests, device, outcome.pools).serve()


def _describe(setup: Setup, error: Exception) -> str:
    if isinstance(error, DownloadError):
        text = setup.traceback("download")
        return text.replace("{model}", setup.args["model_path"])
    if isinstance(error, PoolError):
        name, frames = error.kind, "memory-pool"
    else:
        name, frames = _EXCEPTIONS.get(type(error), (type(error).__name__, "start"))
    return setup.traceback(frames, f"{name}: {error}")


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
