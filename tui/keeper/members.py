"""Which processes belong to a launch. Several marks, because each of them can be lost by an honest process.

An identity is always read before what proves that it belongs, and checked again after it: a pid that changes hands in
between is then never taken for a member.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path

from tui.keeper import cgroup, procfs
from tui.keeper.identity import ProcessIdentity, boot_id, identify, read_stat

MARK_VARIABLE = "SGLTUI_LAUNCH_MARK"


class Members:
    """The living processes of one launch: the union of five marks.

    Descendants (also those that were re-parented to the keeper, a subreaper), the session of the server, its log
    on stdout or stderr, the mark in the environment, and its cgroup. Every member ever seen is remembered.

    Args:
        server: the launched process, leader of its own session; None when nobody wrote down who it is.
        mark: value of `MARK_VARIABLE` in its environment.
        log_inode: (device, inode) of its log.
        remembered: members recorded earlier.
        enclosure: the cgroup that was made for it, if one could be made.
        adopts: this process is the subreaper that gets its orphans.
    """

    def __init__(
        self,
        server: ProcessIdentity | None,
        mark: str,
        log_inode: tuple[int, int] | None,
        remembered: Iterable[ProcessIdentity] = (),
        *,
        enclosure: Path | None = None,
        adopts: bool = False,
    ) -> None:
        self._server = server
        self._assignment = f"{MARK_VARIABLE}={mark}"
        self._log_inode = log_inode
        self._enclosure = enclosure
        self._adopts = adopts
        self._known: dict[int, ProcessIdentity] = {}
        self._ever: dict[int, ProcessIdentity] = {}
        for member in (server, *remembered) if server is not None else remembered:
            self._add(member)

    @property
    def ever(self) -> frozenset[int]:
        """Pids of all that have been members, the dead ones too: what they held may still be held.

        Not those that are somebody else's by now.
        """
        return frozenset(pid for pid, member in self._ever.items() if _is_or_was(member))

    def refresh(self) -> None:
        """Look below the known members, into the cgroup, and among adopted orphans: cheap, for every tick."""
        roots = self.alive()
        if self._enclosure is not None:
            roots += self._find(cgroup.members(self._enclosure), self._is_enclosed)
        if self._adopts:
            roots += self._find(procfs.children(os.getpid()), self._is_adopted)
        for member in _descend(roots):
            self._add(member)

    def scan(self) -> None:
        """Look at every process of this user on the machine: before a kill, and after it."""
        for member in self._find(procfs.all_pids(), self._is_marked):
            self._add(member)
        self.refresh()

    def alive(self) -> list[ProcessIdentity]:
        """The members that still run, by pid. Dead ones are forgotten."""
        living = [member for member in self._known.values() if member.is_alive()]
        self._known = {member.pid: member for member in living}
        return sorted(living, key=lambda member: member.pid)

    def _add(self, member: ProcessIdentity) -> None:
        self._known[member.pid] = member
        self._ever[member.pid] = member

    def _find(self, pids: Iterable[int], belongs: Callable[[ProcessIdentity], bool]) -> list[ProcessIdentity]:
        """Those that belong, of processes of this user that aren't known yet."""
        found = []
        for pid in pids:
            identity = identify(pid) if pid not in self._known and pid != os.getpid() else None
            if identity is None or procfs.owner(pid) != os.geteuid():
                continue
            if belongs(identity) and identity.is_alive():
                found.append(identity)
        return found

    @staticmethod
    def _is_adopted(child: ProcessIdentity) -> bool:
        """A child of the keeper in another session than the keeper's own: the server, or an orphan of its tree."""
        stat = read_stat(child.pid)
        return stat is not None and stat.ppid == os.getpid() and child.session != os.getsid(0)

    def _is_enclosed(self, process: ProcessIdentity) -> bool:
        return self._enclosure is not None and process.pid in cgroup.members(self._enclosure)

    def _is_marked(self, process: ProcessIdentity) -> bool:
        return (
            self._in_session(process)
            or (self._log_inode is not None and procfs.writes_to(process.pid, self._log_inode))
            or procfs.has_environment(process.pid, self._assignment)
        )

    def _in_session(self, process: ProcessIdentity) -> bool:
        # A session's number is a pid and is recycled like one: it proves something only as long as its leader is
        # our server, a zombie included. After that, adoption, log and mark have to do.
        server = self._server
        if server is None or process.session != server.pid or server.boot_id != boot_id():
            return False
        leader = read_stat(server.pid)
        return leader is not None and leader.start_ticks == server.start_ticks


def _is_or_was(member: ProcessIdentity) -> bool:
    """Its number isn't in use, or it still has it."""
    stat = read_stat(member.pid)
    return stat is None or stat.start_ticks == member.start_ticks


def _descend(roots: Iterable[ProcessIdentity]) -> list[ProcessIdentity]:
    """The roots and everything below them; each process is looked at once."""
    found = {root.pid: root for root in roots}
    waiting = list(found.values())
    while waiting:
        parent = waiting.pop()
        offspring = [_child(pid, parent) for pid in procfs.children(parent.pid) if pid not in found]
        if not parent.is_alive():
            continue  # the children read may be those of a stranger who has its number now
        for child in filter(None, offspring):
            found[child.pid] = child
            waiting.append(child)
    return list(found.values())


def _child(pid: int, parent: ProcessIdentity) -> ProcessIdentity | None:
    """The identity of a process that is still a child of `parent`."""
    identity, stat = identify(pid), read_stat(pid)
    if identity is None or stat is None or stat.start_ticks != identity.start_ticks:
        return None
    return identity if stat.ppid == parent.pid and procfs.owner(pid) == os.geteuid() else None
