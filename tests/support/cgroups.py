"""A memory cgroup of our own, for the kernel's own OOM killer; only where we may make one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.waiting import wait_until

_TOP = Path("/sys/fs/cgroup")


class MemoryCgroup:
    """One below our own.

    Args:
        folder: its folder.
        home: the cgroup that we came from.
        limit: the name of the file that limits its memory.
    """

    def __init__(self, folder: Path, home: Path, limit: str) -> None:
        self._folder = folder
        self._home = home
        self._limit = limit

    def limit(self, size_bytes: int) -> None:
        (self._folder / self._limit).write_text(str(size_bytes))

    @contextmanager
    def inside(self) -> Iterator[None]:
        """What we start meanwhile begins its life in it."""
        (self._folder / "cgroup.procs").write_text(str(os.getpid()))
        try:
            yield
        finally:
            (self._home / "cgroup.procs").write_text(str(os.getpid()))

    def remove(self) -> None:
        wait_until(lambda: not (self._folder / "cgroup.procs").read_text(), what="its last process is gone")
        self._folder.rmdir()


@pytest.fixture
def memory_cgroup() -> Iterator[MemoryCgroup]:
    made = _make_v1() or _make_v2()
    if made is None:
        pytest.skip("no memory cgroup can be made here")
    yield made
    made.remove()


def _make_v1() -> MemoryCgroup | None:
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if "memory" in controllers.split(","):
            return _make(_TOP / "memory" / path.lstrip("/"), "memory.limit_in_bytes")
    return None


def _make_v2() -> MemoryCgroup | None:
    path = next((line[3:] for line in Path("/proc/self/cgroup").read_text().splitlines() if line.startswith("0::")), "")
    home = _TOP / path.lstrip("/")
    controlled = home / "cgroup.subtree_control"
    if not controlled.exists() or "memory" not in controlled.read_text().split():
        return None
    return _make(home, "memory.max")


def _make(home: Path, limit: str) -> MemoryCgroup | None:
    folder = home / f"sgltui-test-{os.getpid()}"
    try:
        folder.mkdir()
    except OSError:
        return None
    return MemoryCgroup(folder, home, limit)
