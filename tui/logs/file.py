"""An open log, its archived parts included, and a cursor that knows its place again whatever was done to the file."""

from __future__ import annotations

import os
import stat
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, Self, TypeVar

from tui.errors import SgltuiError
from tui.keeper.log_journal import Journal, base_now
from tui.logs.segments import Archive
from tui.units import MIB

_T = TypeVar("_T")

_FINGERPRINT_BYTES = 256
_CUT_BYTES = 4096  # heads are cut off in whole file system blocks
_SEARCH_BYTES = 16 * MIB  # as much may have been appended while a head was cut off


class _Layout(NamedTuple):
    """Where bytes are at one moment.

    Attributes:
        base: offset of the first byte of the file.
    """

    journal: Journal
    base: int


class LogFile:
    """One log, open for reading. The descriptor holds the inode, so a new file at the path can't pass for it.

    Offsets count all bytes that were ever written to it: those that were moved to compressed segments are read there,
    and no offset changes its meaning when more are moved. No lock is needed for it: what was read while something was
    moved is read again.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._archive = Archive(path)
        self._raw = path.open("rb", buffering=0)
        weakref.finalize(self, self._raw.close)  # whoever drops a log need not close it
        self._known = self._layout()

    @classmethod
    def open(cls, path: Path) -> Self | None:
        """Open a log, or None as long as there is none."""
        try:
            if not stat.S_ISREG(path.stat().st_mode):
                raise SgltuiError(f"{path} is not a regular file", "name a log file")
            return cls(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise _unreadable(path, error) from error

    @property
    def start(self) -> int:
        """Offset of the oldest byte that is kept, when something was last read."""
        return self._known.journal.start

    @property
    def head(self) -> int:
        """Offset of the first byte that isn't in a segment, when something was last read."""
        return self._known.journal.archived

    def size(self) -> int:
        """Offset behind the last byte, now."""
        return self._steadily(lambda layout: layout.base + self._status().st_size)

    def read(self, offset: int, length: int) -> bytes:
        """Up to `length` bytes at `offset`; fewer at the end of the log."""
        pieces: list[bytes] = []
        while length > 0 and (piece := self._piece(offset, length)):
            if len(piece) == length and not pieces:
                return piece
            pieces.append(piece)
            offset += len(piece)
            length -= len(piece)
        return b"".join(pieces)

    def _piece(self, offset: int, length: int) -> bytes:
        try:
            return self._steadily(lambda layout: self._read_once(layout, offset, length))
        except OSError as error:
            raise _unreadable(self.path, error) from error

    def _read_once(self, layout: _Layout, offset: int, length: int) -> bytes:
        if offset < layout.journal.archived:
            return self._archive.read(layout.journal, offset, min(length, layout.journal.archived - offset))
        return os.pread(self._raw.fileno(), length, offset - layout.base)

    def _steadily(self, look: Callable[[_Layout], _T]) -> _T:
        """What a look finds while nothing is moved: it is repeated if something was."""
        while True:
            before = self._known
            found = look(before)
            self._known = self._layout()
            if self._known == before:
                return found

    def _layout(self) -> _Layout:
        journal = self._archive.journal()
        return _Layout(journal, base_now(journal, self._raw.fileno()))

    def is_replaced(self) -> bool:
        """Whether the path now names another file. A path that names nothing doesn't count: its writer goes on."""
        try:
            return not os.path.samestat(self.path.stat(), self._status())
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError as error:
            raise _unreadable(self.path, error) from error

    def close(self) -> None:
        """Let go of the file."""
        self._raw.close()

    def _status(self) -> os.stat_result:
        try:
            return os.fstat(self._raw.fileno())
        except OSError as error:
            raise _unreadable(self.path, error) from error


def _unreadable(path: Path, error: OSError) -> SgltuiError:
    hint = "look as the user who owns it" if isinstance(error, PermissionError) else "look at its file system"
    return SgltuiError(f"{path} can't be read: {error.strerror}", hint)


class Cursor:
    """Reads a file onwards, and is sure that what it reads follows what it read before.

    The bytes before its place are its fingerprint: a file that was truncated doesn't have them there, however long it
    has become since. A file whose head was cut off in whole blocks has them nearer to its head: reading goes on there.

    Attributes:
        offset: where it reads next.
    """

    def __init__(self, offset: int = 0) -> None:
        self.offset = offset
        self._before = b""
        self._size = 0

    def read(self, file: LogFile, length: int) -> bytes | None:
        """Up to `length` bytes that follow, or None when the place is gone."""
        if self.offset and not self._before and not self._take_fingerprint(file):
            return None
        offset: int | None = self.offset
        data = self._read_on(file, self.offset, length)
        if data is None and (offset := self._find(file)) is not None:
            data = self._read_on(file, offset, length)
        if data is None or offset is None:
            return None
        self._advance(offset, data, file.size())
        return data

    def _take_fingerprint(self, file: LogFile) -> bool:
        length = min(self.offset, _FINGERPRINT_BYTES)
        self._before = file.read(self.offset - length, length)
        self._size = self.offset
        return len(self._before) == length

    def _read_on(self, file: LogFile, offset: int, length: int) -> bytes | None:
        known = len(self._before)
        data = file.read(offset - known, known + length)
        return data[known:] if data.startswith(self._before) else None

    def _advance(self, offset: int, data: bytes, size: int) -> None:
        self.offset = offset + len(data)
        self._before = (self._before + data[-_FINGERPRINT_BYTES:])[-_FINGERPRINT_BYTES:]
        self._size = max(size, self.offset)

    def _find(self, file: LogFile) -> int | None:
        """Our place after a cut. Its length is what the file shrank by, and what was appended in the meantime."""
        known = len(self._before)
        shrunk = max(1, self._size - file.size())
        nearest = -(-shrunk // _CUT_BYTES) * _CUT_BYTES
        farthest = min(self.offset - known, nearest + _SEARCH_BYTES)
        places = (self.offset - cut for cut in range(nearest, farthest + 1, _CUT_BYTES))
        return next((place for place in places if file.read(place - known, known) == self._before), None)
