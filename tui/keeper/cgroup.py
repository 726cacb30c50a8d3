"""A cgroup for a server where one can be made: what is started in it stays in it, however it forks and renames itself.

Cgroup 2 alone, and without controllers: it counts members and limits nothing. A plain login session has no right to
make one; a service of the user's own manager (`systemd-run --user --scope`), a rootless container and root have.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from tui.keeper.identity import PROC

_PREFIX = "sgltui-"
_PROCESSES = "cgroup.procs"


def find(pid: int) -> Path | None:
    """The folder of the cgroup 2 that a process is in; None where there is none, or none that can be seen."""
    try:
        lines = (PROC / str(pid) / "cgroup").read_text().splitlines()
        mounts = (PROC / "self/mountinfo").read_text(errors="replace").splitlines()
    except OSError:
        return None
    path = next((line[len("0::") :] for line in lines if line.startswith("0::")), None)
    if path is None:
        return None
    folders = (_below(mount, path) for mount in mounts if " - cgroup2 " in mount)
    # A namespace may show other paths than the mount: it is the one in which the process is found.
    return next((folder for folder in folders if folder is not None and pid in _read(folder)), None)


def find_enclosure(pid: int) -> tuple[Path, str] | None:
    """The cgroup that a keeper made for the server that this process belongs to, and the launch's mark."""
    folder = find(pid)
    if folder is None or not folder.name.startswith(_PREFIX):
        return None
    return folder, folder.name[len(_PREFIX) :]


def can_divide(own: Path) -> bool:
    """A cgroup can be made below, and processes moved there."""
    return os.access(own, os.W_OK | os.X_OK) and os.access(own / _PROCESSES, os.W_OK)


def place_for(mark: str) -> Path | None:
    """Where the launch with this mark gets its cgroup, if it can have one; nothing is made yet."""
    own = find(os.getpid())
    return own / f"{_PREFIX}{mark}" if own is not None and can_divide(own) else None


def enclose(folder: Path, pid: int) -> bool:
    """Make the cgroup and move a process there; False where that can't be, and then nothing of it is left."""
    try:
        folder.mkdir()
        fd = os.open(folder / _PROCESSES, os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(fd, str(pid).encode())
        finally:
            os.close(fd)
    except OSError:  # a limit on cgroups, a threaded parent, a kernel that says no: the other marks have to do
        remove(folder)
        return False
    return True


def members(folder: Path) -> set[int]:
    """Pids in the cgroup and below it; empty when it is gone. One of another pid namespace has none here."""
    return {pid for below in _tree(folder) for pid in _read(below)} - {0}


def remove(folder: Path) -> None:
    """Remove it with what is below it; while processes are in it, it stays."""
    for below in sorted(_tree(folder), key=lambda path: len(path.parts), reverse=True):
        with contextlib.suppress(OSError):
            below.rmdir()


def is_for(folder: Path, mark: str) -> bool:
    """It was made by us, for the launch with this mark."""
    return folder.name == f"{_PREFIX}{mark}"


def _tree(folder: Path) -> Iterator[Path]:
    return (Path(path) for path, _, _ in os.walk(folder))


def _read(folder: Path) -> set[int]:
    try:
        return set(map(int, (folder / _PROCESSES).read_text().split()))
    except OSError:  # gone, or of a kind that has no processes
        return set()


def _below(mount: str, path: str) -> Path | None:
    """The cgroup at `path` as a mount shows it, a line of `mountinfo`; None where that mount doesn't show it."""
    root, point = mount.split(" ")[3:5]
    relative = path if root == "/" else path.removeprefix(root) if (path + "/").startswith(root + "/") else None
    return None if relative is None or ".." in relative.split("/") else Path(point + relative)
