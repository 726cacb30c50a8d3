"""What became of a stop, in words."""

from __future__ import annotations

from tui.launch.records import HolderRecord, StopRecord
from tui.text import printable


def is_clean(report: StopRecord) -> bool:
    """Nothing survived, and no memory is known to be missing."""
    return not report.survivors and report.released is not False


def describe(name: str, report: StopRecord) -> str:
    """What became of it, in a line: `qwen: 4 processes ended in 3.1 s; 71.8 GiB of GPU memory came back`."""
    count = len(report.stopped)
    words = [f"{name}: {count} process{'' if count == 1 else 'es'} ended in {report.seconds:g} s"]
    if report.killed:
        words.append(f"{len(report.killed)} had to be killed")
    words.append(_memory(report))
    if report.survivors:
        words.append(f"STILL RUNNING: pid {', '.join(map(str, report.survivors))}")
    if not report.port_free:
        words.append("its port is still listened on")
    if report.shm_left:
        words.append(f"left in shared memory: {', '.join(report.shm_left)}")
    if report.locks_left:
        words.append(f"left locked, so that a next start may hang: {', '.join(report.locks_left)}")
    return "; ".join(filter(None, words))


def _memory(report: StopRecord) -> str:
    before, after = report.memory_before_gib, report.memory_after_gib
    if report.released is None:
        return "whether its GPU memory came back can't be told here"
    if before is None or after is None:
        return ""  # it had no GPU
    if report.released:
        return f"{before:.1f} GiB of GPU memory came back" if before else ""
    holders = ", ".join(map(_holder, report.holders)) or "see `sgltui gpus`"
    return f"{after:.1f} of {before:.1f} GiB of GPU memory did NOT come back: {holders}"


def _holder(holder: HolderRecord) -> str:
    if holder.pid is None:
        return f"{holder.gib:.1f} GiB without an owner"
    command = printable(holder.command or "ending")[:60]
    return f"pid {holder.pid} ({holder.user or '?'}, {command}) holds {holder.gib:.1f} GiB"
