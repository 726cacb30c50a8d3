"""Reading /proc: children, open files, environment, listening sockets. What vanishes meanwhile is skipped."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from tui.keeper.identity import PROC

_SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - looked at, never written to
_LISTEN = "0A"
_GONE = (FileNotFoundError, ProcessLookupError, PermissionError)


def children(pid: int) -> Iterator[int]:
    """Direct children of every thread of `pid`: constant cost, however many processes the machine runs."""
    try:
        tasks = os.listdir(PROC / str(pid) / "task")
    except _GONE:
        return
    for task in tasks:
        try:
            text = (PROC / str(pid) / "task" / task / "children").read_text()
        except _GONE:
            continue
        yield from map(int, text.split())


def all_pids() -> Iterator[int]:
    """Every process of this pid namespace."""
    return (int(name) for name in os.listdir(PROC) if name.isdigit())


def owner(pid: int) -> int | None:
    """Uid of the process, or None when it is gone."""
    try:
        return (PROC / str(pid)).stat().st_uid
    except _GONE:
        return None


def writes_to(pid: int, inode: tuple[int, int]) -> bool:
    """Its stdout or stderr is the file with this (device, inode)."""
    for number in ("1", "2"):
        try:
            stat = (PROC / str(pid) / "fd" / number).stat()
        except _GONE:
            continue
        if (stat.st_dev, stat.st_ino) == inode:
            return True
    return False


def has_environment(pid: int, assignment: str) -> bool:
    """`NAME=value` stands in the environment it was started with."""
    try:
        block = (PROC / str(pid) / "environ").read_bytes()
    except _GONE:
        return False
    return assignment.encode() in block.split(b"\0")


def sockets(pid: int) -> set[int]:
    """Inodes of the sockets it holds."""
    found: set[int] = set()
    folder = PROC / str(pid) / "fd"
    try:
        names = os.listdir(folder)
    except _GONE:
        return found
    for name in names:
        try:
            target = os.readlink(folder / name)
        except _GONE:
            continue
        if target.startswith("socket:["):
            found.add(int(target[len("socket:[") : -1]))
    return found


def listening(port: int) -> set[int]:
    """Inodes of the TCP sockets that listen on `port`, whatever the address; of this network namespace."""
    found = set()
    for table in ("net/tcp", "net/tcp6"):
        try:
            lines = (PROC / table).read_text().splitlines()[1:]
        except FileNotFoundError:  # no IPv6
            continue
        for line in lines:
            fields = line.split()
            if fields[3] == _LISTEN and int(fields[1].rpartition(":")[2], 16) == port:
                found.add(int(fields[9]))
    return found


def shared_memory(pid: int) -> set[Path]:
    """Files in /dev/shm that it maps, by the names they have there now.

    Told by inode: a semaphore is made under one name and linked to another, so its map shows one that was deleted.
    """
    try:
        lines = (PROC / str(pid) / "maps").read_text(errors="replace").splitlines()
        with os.scandir(_SHARED_MEMORY) as entries:
            names = {entry.inode(): Path(entry.path) for entry in entries}
    except _GONE:
        return set()
    mapped = {int(line.split(maxsplit=5)[4]) for line in lines if f"{_SHARED_MEMORY}/" in line}
    return {names[inode] for inode in mapped if inode in names}
