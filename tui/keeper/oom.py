"""Whether the kernel killed a process because memory ran out: from the cgroup's counter, and from the kernel's log."""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from tui.keeper.identity import PROC, ProcessIdentity

_CGROUPS = Path("/sys/fs/cgroup")
_KERNEL_LOG = Path("/dev/kmsg")
_COUNT = re.compile(r"^oom_kill (\d+)$", re.MULTILINE)
# "Out of memory: Killed process 4711 (python) …" and "Memory cgroup out of memory: Killed process …" (Linux 4.19 on).
_KILLED = re.compile(rb"ut of memory: Killed process (\d+) \(")
_RECORD_BYTES = 8192
_US_PER_S = 1_000_000


@dataclass(frozen=True)
class OomCounter:
    """How many processes of a cgroup the kernel has killed for want of memory, at one moment."""

    path: str
    kills: int


def find_counter() -> OomCounter | None:
    """The counter of the cgroup that this process and its children are in; None where there is none."""
    try:
        lines = (PROC / "self/cgroup").read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        _, controllers, path = line.split(":", 2)
        for file in _candidates(controllers, path.lstrip("/")):
            counter = read_counter(str(file))
            if counter is not None:
                return counter
    return None


def read_counter(path: str) -> OomCounter | None:
    """The counter in a `memory.events` (cgroup 2) or `memory.oom_control` (cgroup 1); None where there is none."""
    try:
        match = _COUNT.search(Path(path).read_text())
    except OSError:
        return None
    return OomCounter(path, int(match[1])) if match else None


def killed_by_kernel(victims: Collection[int], since: ProcessIdentity) -> int | None:
    """The first of these pids that the kernel's log names as killed, after `since` was started.

    None where it names none, can't be read, or numbers processes otherwise: in a pid namespace of our own.
    """
    if not _is_initial_namespace():
        return None
    started_us = since.start_ticks * _US_PER_S // os.sysconf("SC_CLK_TCK")
    for moment_us, pid in _read_kernel_log():
        if moment_us >= started_us and pid in victims:
            return pid
    return None


def _candidates(controllers: str, path: str) -> list[Path]:
    """Where the counter may be: by the path as the host tells it, or, in a cgroup namespace of our own, at the top."""
    if not controllers:
        tops = (_CGROUPS, _CGROUPS / "unified")
        return [folder / "memory.events" for top in tops for folder in (top / path, top)]
    if "memory" in controllers.split(","):
        return [folder / "memory.oom_control" for folder in (_CGROUPS / "memory" / path, _CGROUPS / "memory")]
    return []


def _is_initial_namespace() -> bool:
    """Its inode is fixed (PROC_PID_INIT_INO in the kernel's source)."""
    return os.readlink(PROC / "self/ns/pid") == "pid:[4026531836]"  # noqa: PTH115 - no path, but a name


def _read_kernel_log() -> list[tuple[int, int]]:
    """Microseconds since boot, pid: for each kill that is still in the kernel's ring buffer."""
    try:
        fd = os.open(_KERNEL_LOG, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return []
    found = []
    try:
        while True:
            try:
                head, _, message = os.read(fd, _RECORD_BYTES).partition(b";")
            except BrokenPipeError:  # overwritten while we read; the next one is still there
                continue
            match = _KILLED.search(message)
            if match:
                found.append((int(head.split(b",")[2]), int(match[1])))
    except OSError:  # EAGAIN: that was the last
        return found
    finally:
        os.close(fd)
