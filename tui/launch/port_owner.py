"""Who listens on a port, as far as this user may see."""

from __future__ import annotations

import os

from tui.keeper import procfs
from tui.keeper.listeners import listeners
from tui.text import printable

_LIMIT = 80


def describe_port_owner(port: int) -> str:
    """`pid 4711 (alice, python -m http.server)`, or what is known of somebody else's."""
    inodes = {inode for _, inode in listeners(port)}
    for pid in procfs.all_pids():
        if pid != os.getpid() and inodes & procfs.sockets(pid):
            return f"pid {pid} ({procfs.user(pid) or '?'}, {printable(procfs.shown_command(pid))[:_LIMIT]})"
    # Another user's open files can't be read, nor those of another pid namespace.
    return "another program" if not inodes else "a program of another user"
