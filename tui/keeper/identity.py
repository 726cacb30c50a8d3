"""Which process is meant. A pid alone is recycled; pid, start time and boot together are not."""

from __future__ import annotations

import os
import signal
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

PROC = Path("/proc")
# Fields of /proc/PID/stat after the command's closing parenthesis (proc(5) numbers them from 3).
_STATE, _PPID, _SESSION, _THREADS, _START_TICKS = 0, 1, 3, 17, 19
_STAT_BYTES = 4096
_DEAD_STATES = (b"Z", b"X", b"x")
_SUSPENDED_STATES = ("T", "t")


class ProcessStat(NamedTuple):
    """The few fields of /proc/PID/stat that identity and membership need."""

    pid: int
    state: str
    ppid: int
    session: int
    threads: int
    start_ticks: int

    @property
    def is_dead(self) -> bool:
        """A zombie holds a pid, nothing else; but a leader is called one while other threads of it still live."""
        return self.state.encode() in _DEAD_STATES and self.threads <= 1


@dataclass(frozen=True)
class ProcessIdentity:
    """One process, for good.

    Attributes:
        pid: as seen in the pid namespace of the record.
        start_ticks: field 22 of /proc/PID/stat, clock ticks since boot.
        session: its session id when it was recorded.
        boot_id: the kernel's id of this boot.
    """

    pid: int
    start_ticks: int
    session: int
    boot_id: str

    def as_json(self) -> dict[str, Any]:
        """For a record."""
        return asdict(self)

    def is_alive(self) -> bool:
        """The very same process still runs on this boot; a zombie doesn't."""
        if self.boot_id != boot_id():
            return False
        stat = read_stat(self.pid)
        return stat is not None and stat.start_ticks == self.start_ticks and not stat.is_dead

    def is_suspended(self) -> bool:
        """It lives, but was stopped by a signal or a debugger, and does nothing until it is told to go on."""
        stat = read_stat(self.pid)
        return stat is not None and stat.start_ticks == self.start_ticks and stat.state in _SUSPENDED_STATES


@lru_cache(maxsize=1)
def boot_id() -> str:
    """The kernel's random id of this boot."""
    return (PROC / "sys/kernel/random/boot_id").read_text().strip()


@lru_cache(maxsize=1)
def pid_namespace() -> str:
    """Which pid namespace our pids belong to (`pid:[4026531836]`)."""
    return str((PROC / "self/ns/pid").readlink())


@lru_cache(maxsize=1)
def time_namespace() -> str:
    """By which clock start times are told to us: another time namespace sees the same process start at another tick."""
    try:
        return os.readlink(PROC / "self/ns/time")  # noqa: PTH115 - no path, but a name
    except FileNotFoundError:  # before Linux 5.6 there are none
        return ""


def read_stat(pid: int) -> ProcessStat | None:
    """The process's stat fields, or None when there is no such process."""
    try:
        # Not through Path, which costs more than the read: this is asked for every process of the machine.
        fd = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return None  # the last: hidden from us (hidepid), so it is another user's
    try:
        text = os.read(fd, _STAT_BYTES)
    except ProcessLookupError:
        return None
    finally:
        os.close(fd)
    fields = text[text.rindex(b")") + 2 :].split()
    return ProcessStat(
        pid=pid,
        state=fields[_STATE].decode(),
        ppid=int(fields[_PPID]),
        session=int(fields[_SESSION]),
        threads=int(fields[_THREADS]),
        start_ticks=int(fields[_START_TICKS]),
    )


def identify(pid: int) -> ProcessIdentity | None:
    """The identity of a living process, or None."""
    stat = read_stat(pid)
    if stat is None or stat.is_dead:
        return None
    return ProcessIdentity(pid, stat.start_ticks, stat.session, boot_id())


def age_s(identity: ProcessIdentity) -> float:
    """Seconds since it was started."""
    uptime_s = float((PROC / "uptime").read_text().split()[0])
    return max(0.0, uptime_s - identity.start_ticks / os.sysconf("SC_CLK_TCK"))


def identity_from_json(value: dict[str, Any]) -> ProcessIdentity:
    """The identity that `as_json` wrote."""
    return ProcessIdentity(int(value["pid"]), int(value["start_ticks"]), int(value["session"]), str(value["boot_id"]))


def send_signal(identity: ProcessIdentity, signum: signal.Signals) -> bool:
    """Signal this very process: open its pidfd, then check that it is the one meant, then send.

    Returns:
        False when it is already gone or its pid belongs to another process now.

    Raises:
        PermissionError: it belongs to another user.
    """
    try:
        fd = os.pidfd_open(identity.pid)
    except ProcessLookupError:
        return False
    try:
        if not identity.is_alive():
            return False
        signal.pidfd_send_signal(fd, signum)
    except ProcessLookupError:
        return False
    finally:
        os.close(fd)
    return True


def this_machine() -> dict[str, str]:
    """What tells one machine's records from another's in a shared home."""
    return {
        "hostname": os.uname().nodename,
        "machine_id": _machine_id(),
        "boot_id": boot_id(),
        "pid_namespace": pid_namespace(),
        "time_namespace": time_namespace(),
    }


@lru_cache(maxsize=1)
def _machine_id() -> str:
    try:
        return Path("/etc/machine-id").read_text().strip()
    except OSError:  # containers often have none; the host name has to do
        return ""
