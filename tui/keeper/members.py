"""Which processes belong to a launch. Several marks, because each of them can be lost by an honest process."""

from __future__ import annotations

import os
from collections.abc import Iterable

from tui.keeper import procfs
from tui.keeper.identity import ProcessIdentity, identify, read_stat

MARK_VARIABLE = "SGLTUI_LAUNCH_MARK"


class Members:
    """The living processes of one launch: the union of four marks.

    Descendants (also those that were re-parented to the keeper, a subreaper), the session of the server, its log
    on stdout or stderr, and the mark in the environment. Every process ever seen is remembered with its start
    time, so that a recycled pid is never taken for it.
    """

    def __init__(
        self,
        server: ProcessIdentity,
        mark: str,
        log_inode: tuple[int, int] | None,
        remembered: Iterable[ProcessIdentity] = (),
        reaper: int | None = None,
    ) -> None:
        """Start from the server itself and what an earlier keeper has recorded.

        Args:
            server: the launched process, leader of its own session.
            mark: value of `MARK_VARIABLE` in its environment.
            log_inode: (device, inode) of its log.
            remembered: members recorded earlier.
            reaper: pid of the subreaper that gets its orphans (the keeper), if there is one.
        """
        self.server = server
        self._assignment = f"{MARK_VARIABLE}={mark}"
        self._log_inode = log_inode
        self._reaper = reaper
        self._known: dict[int, ProcessIdentity] = {member.pid: member for member in (server, *remembered)}

    def refresh(self) -> None:
        """Look below the server and among the keeper's adopted children: cheap, for every tick."""
        roots = [member.pid for member in self._known.values() if member.is_alive()]
        if self._reaper is not None:
            roots += [child for child in procfs.children(self._reaper) if self._is_marked(child)]
        self._remember(procfs.trees(roots))

    def scan(self) -> None:
        """Look at every process of this user on the machine: before a kill, and after it."""
        self.refresh()
        self._remember(pid for pid in procfs.all_pids() if pid not in self._known and self._is_marked(pid))

    def alive(self) -> list[ProcessIdentity]:
        """The members that still run, by pid. Dead ones are forgotten; the server is kept."""
        living = [member for member in self._known.values() if member.is_alive()]
        self._known = {member.pid: member for member in (self.server, *living)}
        return sorted(living, key=lambda member: member.pid)

    def _is_marked(self, pid: int) -> bool:
        if pid == os.getpid() or procfs.owner(pid) != os.geteuid():
            return False
        stat = read_stat(pid)
        if stat is None or stat.is_dead:
            return False
        return (
            self._in_session(stat.session, stat.start_ticks)
            or (self._log_inode is not None and procfs.writes_to(pid, self._log_inode))
            or procfs.has_environment(pid, self._assignment)
        )

    def _in_session(self, session: int, start_ticks: int) -> bool:
        # A session id is a pid and is recycled like one: nothing older than our server can be in its session,
        # and a new leader with the same number means that the number now belongs to somebody else.
        if session != self.server.pid or start_ticks < self.server.start_ticks:
            return False
        leader = read_stat(session)
        return leader is None or leader.start_ticks == self.server.start_ticks

    def _remember(self, pids: Iterable[int]) -> None:
        for pid in pids:
            known = self._known.get(pid)
            if pid == os.getpid() or (known is not None and known.is_alive()):
                continue
            identity = identify(pid)
            if identity is not None and procfs.owner(pid) == os.geteuid():
                self._known[pid] = identity
