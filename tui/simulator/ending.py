"""How a simulated server takes its own processes down."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

from tui.keeper.gpu_memory import read_simulated
from tui.keeper.identity import read_stat
from tui.keeper.procfs import children
from tui.simulator.log import Log
from tui.simulator.setup import OLD_RELEASE, Context


def kill_tree(context: Context, *, include_self: bool) -> None:
    """SIGKILL all descendants, then this process too if asked to: SGLang's usual end, and the reason for its -9."""
    own = os.getpid()
    log_kill(context.log, context.setup.release, include_self=include_self)
    below = set(_descendants(own))
    if context.switches.leak:
        leave_ghost(context.setup.directory, below)
    for pid in below:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    if include_self:
        os.kill(own, signal.SIGKILL)


def log_kill(log: Log, release: str, *, include_self: bool) -> None:
    """What 0.5.23 says before it kills, even where there is nobody to be killed."""
    if release != OLD_RELEASE:
        own = os.getpid()
        log.line(f"kill_process_tree called: parent_pid={own}, include_parent={include_self}, pid={own}")


def _descendants(pid: int) -> Iterator[int]:
    for child in children(pid):
        yield child
        yield from _descendants(child)


def leave_ghost(directory: Path, pids: set[int]) -> None:
    """Let what these processes hold stay held, by nobody."""
    held: dict[str, int] = {}
    for pid, by_gpu in read_simulated(directory).by_process.items():
        for uuid, size_bytes in by_gpu.items() if pid in pids else ():
            held[uuid] = held.get(uuid, 0) + size_bytes
    if held:
        (directory / "held" / f"ghost-{os.getpid()}-{time.time_ns()}.json").write_text(json.dumps(held))


def forget_the_dead(directory: Path) -> None:
    """Delete what processes left behind in `held/` and `busy/`; it counted no more anyway."""
    for path in (directory / "held").glob("[0-9]*.json"):
        pid, _, start_ticks = path.stem.partition("-")
        stat = read_stat(int(pid))
        if stat is None or str(stat.start_ticks) != start_ticks:
            path.unlink(missing_ok=True)
    for path in (directory / "busy").glob("[0-9]*"):
        if read_stat(int(path.name)) is None:
            path.unlink(missing_ok=True)
