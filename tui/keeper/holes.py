"""Taking the head off a file that somebody else appends to, without its writer noticing. Linux, standard library.

fallocate(2): FALLOC_FL_PUNCH_HOLE gives the blocks of a range back and leaves zeros; FALLOC_FL_COLLAPSE_RANGE (ext4,
XFS) takes a range out, so that what follows moves to the front. Both hold off a writer only as long as they take.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import tempfile
from pathlib import Path

_KEEP_SIZE, _PUNCH_HOLE, _COLLAPSE_RANGE = 0x01, 0x02, 0x08  # linux/falloc.h
_UNSUPPORTED = frozenset({errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL, errno.EPERM, errno.ENOTTY})
_LEAST_BLOCK = 64 * 1024
_PIECE_BYTES = 8 << 20
_SYNC_AND_WAIT = 1 | 2 | 4  # SYNC_FILE_RANGE_WAIT_BEFORE, _WRITE, _WAIT_AFTER

COLLAPSE, PUNCH, NONE = "collapse", "punch", "none"


def punch(fd: int, length: int) -> None:
    """Give the blocks of the first `length` bytes back, piece by piece; they read as zeros then."""
    for start in range(0, length, _PIECE_BYTES):
        piece = min(_PIECE_BYTES, length - start)
        # Else the kernel would do both while the writer waits: write pages out, and forget them.
        write_out(fd, start, piece)
        os.posix_fadvise(fd, start, piece, os.POSIX_FADV_DONTNEED)
        _fallocate(fd, _PUNCH_HOLE | _KEEP_SIZE, start, piece)


def write_out(fd: int, start: int = 0, length: int = 0) -> None:
    """Have a range (to the end with length 0) written, without a commit of the file system's journal.

    A commit, as fsync makes one, holds up every writer until what belongs to it is on disk; after this there is little.
    """
    _libc.sync_file_range(fd, ctypes.c_int64(start), ctypes.c_int64(length), _SYNC_AND_WAIT)  # only a help: may fail


def collapse(fd: int, length: int) -> None:
    """Take the first `length` bytes out of the file; the file must be longer."""
    _fallocate(fd, _COLLAPSE_RANGE, 0, length)


def is_hole(fd: int, length: int) -> bool:
    """Whether the first `length` bytes have no blocks."""
    try:
        return os.lseek(fd, 0, os.SEEK_DATA) >= length
    except OSError as error:
        if error.errno != errno.ENXIO:
            raise
        return True  # no data in the whole file


def block_bytes(fd: int) -> int:
    """Cuts are multiples of this: whole blocks of the file system, and of what readers count lines by."""
    return max(_LEAST_BLOCK, os.fstatvfs(fd).f_bsize)


def ability(directory: Path) -> str:
    """What the file system of a folder can do, tried on a file of our own: COLLAPSE, PUNCH or NONE."""
    fd, name = tempfile.mkstemp(prefix=".holes.", dir=directory)
    try:
        block = block_bytes(fd)
        os.write(fd, b"\n" * (2 * block))
        os.fsync(fd)
        return _ability(fd, block)
    finally:
        os.close(fd)
        with contextlib.suppress(FileNotFoundError):
            Path(name).unlink()


def is_unsupported(error: OSError) -> bool:
    """The file system can't do it, as opposed to: it failed this time."""
    return error.errno in _UNSUPPORTED


def _ability(fd: int, block: int) -> str:
    for action, without in ((punch, NONE), (collapse, PUNCH)):
        try:
            action(fd, block)
        except OSError as error:
            if not is_unsupported(error):
                raise
            return without
        if action is punch and not is_hole(fd, block):
            return NONE  # nobody could tell afterwards how far it came
    return COLLAPSE


def _fallocate(fd: int, mode: int, start: int, length: int) -> None:
    if _libc_fallocate(fd, mode, start, length):
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


_libc = ctypes.CDLL(None, use_errno=True)
# musl has the one name, glibc both, and its short one takes 32 bits on old machines.
_libc_fallocate = _libc.fallocate64 if hasattr(_libc, "fallocate64") else _libc.fallocate
_libc_fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64]
