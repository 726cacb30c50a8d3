"""Reading /proc: children, open files, sockets, environment. What vanishes meanwhile is skipped."""

from __future__ import annotations

import os
import pwd
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from tui.hiding import command_text
from tui.keeper.identity import PROC

_SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - looked at, never written to
_GONE = (FileNotFoundError, ProcessLookupError, PermissionError)


def children(pid: int) -> Iterator[int]:
    """Direct children of every thread of `pid`: constant cost, however many processes the machine runs."""
    folder = f"/proc/{pid}/task"
    try:
        tasks = os.listdir(folder)
    except _GONE:
        return
    for task in tasks:
        yield from map(int, (_read(f"{folder}/{task}/children") or b"").split())


def all_pids() -> Iterator[int]:
    """Every process of this pid namespace."""
    return (int(name) for name in os.listdir(PROC) if name.isdigit())


def owner(pid: int) -> int | None:
    """Uid of the process, or None when it is gone."""
    try:
        return os.stat(f"/proc/{pid}").st_uid
    except _GONE:
        return None


def user(pid: int) -> str | None:
    """The name of its owner, or the number of one without a name; None when it is gone."""
    uid = owner(pid)
    return None if uid is None else _user_name(uid)


@lru_cache
def _user_name(uid: int) -> str:
    """Asked once: many machines ask a server over the network for it."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def open_files(pid: int) -> list[str]:
    """What it has open, by path; sockets and pipes have none."""
    return [target for target in _descriptors(pid) if target.startswith("/")]


def command_line(pid: int) -> list[str]:
    """Its argument vector; empty for a zombie and for one that is gone."""
    try:
        block = (PROC / str(pid) / "cmdline").read_bytes()
    except _GONE:
        return []
    return [word.decode(errors="surrogateescape") for word in block.rstrip(b"\0").split(b"\0")] if block else []


def working_folder(pid: int) -> str | None:
    """The folder in which a process is; None when it is gone, or nobody may look."""
    try:
        return os.readlink(f"/proc/{pid}/cwd")
    except OSError:
        return None


def name(pid: int) -> str:
    """The name that the kernel keeps of it, at most 15 bytes; empty when it is gone."""
    try:
        return (PROC / str(pid) / "comm").read_text(errors="replace").rstrip("\n")
    except _GONE:
        return ""


def shown_command(pid: int) -> str:
    """Its command line as somebody may see it, or the kernel's name of it; empty when it is gone."""
    return command_text(command_line(pid)) or name(pid)


def outputs(pid: int) -> set[tuple[int, int]]:
    """(device, inode) of the regular files on its stdout and stderr."""
    found = set()
    for number in ("1", "2"):
        try:
            status = os.stat(f"/proc/{pid}/fd/{number}")
        except _GONE:
            continue
        if stat.S_ISREG(status.st_mode):
            found.add((status.st_dev, status.st_ino))
    return found


def writes_to(pid: int, inode: tuple[int, int]) -> bool:
    """Its stdout or stderr is the regular file with this (device, inode)."""
    return inode in outputs(pid)


def has_environment(pid: int, assignment: str) -> bool:
    """`NAME=value` stands in the environment it was started with."""
    block, wanted = _read(f"/proc/{pid}/environ") or b"", assignment.encode()
    return wanted in block and wanted in block.split(b"\0")


def sockets(pid: int) -> set[int]:
    """Inodes of the sockets it holds."""
    return {int(target[len("socket:[") : -1]) for target in _descriptors(pid) if target.startswith("socket:[")}


def shared_memory(pids: Iterable[int]) -> set[Path]:
    """Files in /dev/shm that one of them maps, by the names they have there now.

    Told by inode: a semaphore is made under one name and linked to another, so its map shows one that was deleted.
    """
    try:
        with os.scandir(_SHARED_MEMORY) as entries:
            names = {entry.inode(): Path(entry.path) for entry in entries}
    except _GONE:
        return set()
    mapped = {inode for pid in pids for inode in _mapped_inodes(pid)}
    return {names[inode] for inode in mapped if inode in names}


def _descriptors(pid: int) -> Iterator[str]:
    """What its descriptors stand for: a path, `socket:[INODE]`, `pipe:[INODE]` and so on."""
    folder = f"/proc/{pid}/fd"
    try:
        names = os.listdir(folder)
    except _GONE:
        return
    for name in names:
        with suppress(*_GONE):
            yield os.readlink(f"{folder}/{name}")


def _mapped_inodes(pid: int) -> set[int]:
    text = _read(f"/proc/{pid}/maps") or b""
    marked = b"%s/" % os.fsencode(_SHARED_MEMORY)
    return {int(line.split(maxsplit=5)[4]) for line in text.splitlines() if marked in line} if marked in text else set()


def _read(path: str) -> bytes | None:
    """A file of /proc, or None when it is gone or not for us. Not through Path, which costs more than the read."""
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read()
    except _GONE:
        return None
