"""Locks of kernel builds (JIT) that killed processes leave behind: the next start waits for such a file for ever.

torch's FileBaton holds a lock by the mere existence of a file named `lock`. Others lock a file, which may stay: the
kernel lets go of those when their holder dies.
"""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterable
from pathlib import Path

from tui.keeper import procfs
from tui.keeper.identity import ProcessIdentity
from tui.keeper.tail import read_tail

_TAIL_BYTES = 4 << 20
_NAMED = re.compile(rb"(/[\w./+@:-]{1,400}/lock)\b")
_CACHES = re.compile(r"cache|extension|jit|triton|flashinfer|deep_gemm|inductor", re.IGNORECASE)


def held(members: Iterable[ProcessIdentity]) -> set[str]:
    """Lock files of builds that members have open."""
    return {path for member in members for path in procfs.open_files(member.pid) if _is_build_lock(path)}


def named(log: Path) -> set[str]:
    """Lock files of builds that the end of a log names."""
    found = set(_NAMED.findall(read_tail(log, _TAIL_BYTES)))
    return {path for path in (os.fsdecode(name) for name in found) if _is_build_lock(path)}


def stale(paths: Iterable[str]) -> list[str]:
    """Those of ours that are still there, and that no living process has locked or open."""
    left = sorted(path for path in paths if _is_ours_and_free(path))
    if not left:
        return []
    in_use = {path for pid in procfs.all_pids() for path in procfs.open_files(pid)}
    return [path for path in left if path not in in_use]


def _is_build_lock(path: str) -> bool:
    return path.endswith("/lock") and _CACHES.search(path) is not None


def _is_ours_and_free(path: str) -> bool:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return os.fstat(fd).st_uid == os.geteuid()
    except OSError:
        return False
    finally:
        os.close(fd)
