"""One running launch as its keeper, or who stands in for it, sees it: server, members, records, memory."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tui.keeper import cgroup, procfs
from tui.keeper.gpu_memory import GpuMemoryReading, read_within
from tui.keeper.identity import ProcessIdentity, identify, identity_from_json
from tui.keeper.members import Members
from tui.keeper.oom import OomCounter, killed_by_kernel, read_counter
from tui.keeper.records import LaunchRecords
from tui.keeper.rotation import LogLimits
from tui.keeper.verdict import signal_name

_STEP_S = 0.02
# For so long, and twice as long at most: SGLang may take 65 s to end itself after a child's death.
_KILLS_COUNT_S = 300.0


@dataclass(frozen=True)
class Target:
    """What a launch was given, from its `launch.json`.

    Attributes:
        mark: value of the environment mark.
        gpus: uuids of its GPUs; empty when it runs without.
        simulated: the simulated machine, or None.
        log_limits: how much of its log is kept.
    """

    mark: str
    host: str
    port: int
    gpus: list[str]
    simulated: Path | None
    log_limits: LogLimits = field(default_factory=LogLimits)

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> Target:
        """Read the fields that running and stopping need."""
        simulated = record.get("simulated")
        return cls(
            mark=record["mark"],
            host=record["host"],
            port=record["port"],
            gpus=[gpu["uuid"] for gpu in record["gpus"]],
            simulated=Path(simulated) if simulated else None,
            log_limits=LogLimits(**(record.get("log_limits") or {})),
        )


class Run:
    """A launch whose server has been started, by us or by an earlier keeper.

    Args:
        server: the main process; None when nobody wrote down who it is.
        is_parent: this process has started it, and reaps it and its orphans.

    Attributes:
        exit_status: raw wait status of the server once reaped; None before, and always for a stand-in.
        reaped: how many children, adopted ones too, have been collected.
    """

    def __init__(
        self, records: LaunchRecords, target: Target, server: ProcessIdentity | None, *, is_parent: bool
    ) -> None:
        self.records = records
        self.target = target
        self.server = server
        self.exit_status: int | None = None
        self.reaped = 0
        self._is_parent = is_parent
        self._end_notice = _open_pidfd(server) if server is not None and not is_parent else None
        self._last_held: GpuMemoryReading | None = None
        self._counted: OomCounter | None = None
        self._counted_at = time.monotonic()
        self._enclosure = _recorded_cgroup(records, target)
        recorded = records.read().get("members", [])
        self.members = Members(
            server,
            target.mark,
            _inode(records.files.log),
            remembered=[identity_from_json(member) for member in recorded],
            enclosure=self._enclosure,
            adopts=is_parent,
        )

    def reap(self) -> None:
        """Collect exited children, adopted ones too; remember the server's own status."""
        while self._is_parent:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            self.reaped += 1
            if self.server is not None and pid == self.server.pid:
                self.exit_status = status

    def server_is_gone(self) -> bool:
        """The main process has ended; others of its tree may still run."""
        self.reap()
        if self._is_parent and self.server is not None:
            # Its status can be had a moment later than /proc shows its end.
            return self.exit_status is not None
        return self.server is None or not self.server.is_alive()

    def end_notices(self) -> list[int]:
        """Descriptors that become readable when a server that isn't our child ends; a child's end is signalled."""
        return [] if self._end_notice is None else [self._end_notice]

    def wait_for_status(self, limit_s: float) -> None:
        """Until the server's status can be had, if it is ours to have; a process in a hung driver may never give it."""
        deadline = time.monotonic() + limit_s
        while self._is_parent and not self.server_is_gone() and time.monotonic() < deadline:
            time.sleep(_STEP_S)

    def record_members(self) -> None:
        """Keep the list of members on disk, for whoever must go on without this process."""
        self.records.note(members=[member.as_json() for member in self.members.alive()])

    def remove_cgroup(self) -> None:
        """Leave no empty cgroup behind, if one was made for it."""
        if self._enclosure is not None:
            cgroup.remove(self._enclosure)

    def baseline(self) -> dict[str, int]:
        """Used bytes by GPU before the server was started."""
        recorded: dict[str, int] = self.records.read().get("gpu_used_at_start") or {}
        return recorded

    def oom_victim(self) -> int | None:
        """The member that the kernel killed for want of memory; 0 when only its cgroup's counter tells of one."""
        if self.server is None:
            return None
        named = killed_by_kernel(self.members.ever, self.server)
        before = self.records.read().get("oom_counter")
        now = read_counter(before["path"]) if before else None
        return 0 if named is None and before and now and now.kills > before["kills"] else named

    def forget_old_kills(self) -> None:
        """Move what kills are counted from: others are in the same cgroup, whose end says nothing about this one's."""
        recorded = self.records.read().get("oom_counter")
        if recorded is None or time.monotonic() - self._counted_at < _KILLS_COUNT_S:
            return
        if self._counted is not None:
            self.records.note(oom_counter=vars(self._counted))
        self._counted_at, self._counted = time.monotonic(), read_counter(recorded["path"])

    def sample_memory(self, limit_s: float) -> None:
        """Remember what the members hold now, for when they have died without warning; record their peak."""
        reading = self.read_memory(limit_s)
        holders = self.members.ever & set(reading.by_process) if reading is not None else set()
        if reading is not None and holders:
            self._last_held = reading
            held_bytes = sum(sum(reading.by_process[pid].values()) for pid in holders)
            self.records.note(peak_memory_bytes=max(held_bytes, self.records.read().get("peak_memory_bytes") or 0))

    def note_shared_memory(self) -> None:
        """Remember which files in /dev/shm the members map: once they are dead nobody can tell whose those are."""
        self.records.note(shared_memory=sorted(map(str, self._mapped())))

    def shared_memory(self) -> set[Path]:
        """Files in /dev/shm of living members, and of those that have died since they were noted."""
        return self._mapped() | set(map(Path, self.records.read().get("shared_memory") or ()))

    def _mapped(self) -> set[Path]:
        return procfs.shared_memory(member.pid for member in self.members.alive())

    def read_held(self, limit_s: float) -> GpuMemoryReading | None:
        """GPU memory while the members hold it: now, or, when they are dead already, as last sampled."""
        now = self.read_memory(limit_s)
        if now is not None and self.members.ever & set(now.by_process):
            return now
        return self._last_held or now

    def read_memory(self, limit_s: float) -> GpuMemoryReading | None:
        """GPU memory now, or None where it can't be read in time. Without GPUs there is nothing to read."""
        return read_within(limit_s, self.target.simulated) if self.target.gpus else None


def describe_exit(status: int | None) -> dict[str, Any]:
    """`returncode` as Python counts it (negative: the signal) and the signal's name; nulls when nobody saw it."""
    code = None if status is None else os.waitstatus_to_exitcode(status)
    return {"returncode": code, "signal": signal_name(-code) if code is not None and code < 0 else None}


def recorded_server(records: LaunchRecords) -> ProcessIdentity | None:
    """The main process that an earlier keeper wrote down."""
    recorded = records.read().get("server")
    return None if recorded is None else identity_from_json(recorded)


def _recorded_cgroup(records: LaunchRecords, target: Target) -> Path | None:
    """The cgroup that was made for the launch; whatever else stands there isn't ours to look into, or to remove."""
    recorded = records.read().get("cgroup")
    return Path(recorded) if recorded and cgroup.is_for(Path(recorded), target.mark) else None


def own_identity() -> dict[str, Any]:
    """This process, for the record of who attends a launch."""
    identity = identify(os.getpid())
    if identity is None:
        raise ProcessLookupError("this process isn't in /proc: is /proc mounted for its pid namespace?")
    return identity.as_json()


def _open_pidfd(process: ProcessIdentity) -> int | None:
    """A descriptor of this very process, or None when it is gone."""
    try:
        fd = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return None
    if process.is_alive():
        return fd
    os.close(fd)
    return None


def _inode(path: Path) -> tuple[int, int] | None:
    try:
        stat = path.stat()
    except OSError:  # there is none, or its disk is away
        return None
    return (stat.st_dev, stat.st_ino)
