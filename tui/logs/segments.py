"""The compressed parts of a rotated log, read as the bytes they hold. What can't be read is said in its place."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections import OrderedDict
from pathlib import Path

from tui.keeper.log_journal import Journal, Segment, journal_path, read_journal
from tui.keeper.segment_file import HEADER, HEADER_MARK, Member, member_at, unpack
from tui.units import MIB

_KEPT_MEMBERS = 4  # of 1 MiB each: a page and its neighbours
_NOTICE_BYTES = 4096


class Archive:
    """What is beside a log: its journal, as it is now, and its segments."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._path = str(journal_path(log))
        self._seen: tuple[int, int, int] | None = None
        self._journal = Journal()
        self._trouble = ""
        self._tables: dict[str, list[Member]] = {}
        self._plain: OrderedDict[tuple[str, int], bytes] = OrderedDict()

    def journal(self) -> Journal:
        """The journal; the same object as long as its file is the same."""
        try:
            status = os.stat(self._path)  # noqa: PTH116 - after every read; a Path's own takes three times as long
        except OSError:  # there is none, or not any more: then what it said still holds
            return self._journal
        seen = (status.st_ino, status.st_mtime_ns, status.st_size)
        if seen != self._seen:
            self._seen, self._journal = seen, self._read_journal()
        return self._journal

    def read(self, journal: Journal, offset: int, length: int) -> bytes:
        """Up to `length` archived bytes at `offset`, which is below `journal.archived`; at least one."""
        place = bisect_right(journal.segments, offset, key=lambda segment: segment.start) - 1
        segment = journal.segments[place] if place >= 0 else None
        if segment is not None and offset < segment.start + segment.size:
            return self._read_segment(segment, offset - segment.start, length)
        following = journal.segments[place + 1].start if place + 1 < len(journal.segments) else journal.archived
        begin = segment.start + segment.size if segment is not None else 0
        return _filler("older lines were deleted", following - begin, offset - begin, length)

    def _read_journal(self) -> Journal:
        try:
            return read_journal(self._log)
        except FileNotFoundError:
            return Journal()
        except (OSError, ValueError) as error:
            path = journal_path(self._log)
            self._trouble = f"{path.name} can't be read ({error}): older lines are in {self._log.name}.*.gz"
            notice = Segment(path.name, 0, _NOTICE_BYTES, 0, 0.0)
            return Journal(_NOTICE_BYTES, _NOTICE_BYTES, [notice])

    def _read_segment(self, segment: Segment, at: int, length: int) -> bytes:
        if segment.name == journal_path(self._log).name:
            return _filler(self._trouble, segment.size, at, length)
        try:
            table = self._table(segment)
        except OSError as error:
            return _filler(f"{segment.name} can't be read: {error.strerror}", segment.size, at, length)
        place = bisect_right(table, at, key=lambda member: member.start) - 1
        member = table[place] if place >= 0 else None
        if member is not None and at < member.start + member.size:
            return self._read_member(segment, member, at - member.start, length)
        begin = member.start + member.size if member is not None else 0
        end = table[place + 1].start if place + 1 < len(table) else segment.size
        return _filler(f"{segment.name} is damaged", end - begin, at - begin, length)

    def _read_member(self, segment: Segment, member: Member, at: int, length: int) -> bytes:
        key = (segment.name, member.at)
        if key not in self._plain:
            try:
                self._plain[key] = self._unpack(segment, member)
            except (OSError, ValueError) as error:
                return _filler(f"{segment.name} is damaged ({error})", member.size, at, length)
            if len(self._plain) > _KEPT_MEMBERS:
                self._plain.popitem(last=False)
        self._plain.move_to_end(key)
        return self._plain[key][at : at + length]

    def _unpack(self, segment: Segment, member: Member) -> bytes:
        with self._log.with_name(segment.name).open("rb", buffering=0) as file:
            plain = unpack(os.pread(file.fileno(), member.packed, member.at))
        if len(plain) != member.size:
            raise ValueError(f"{len(plain)} bytes instead of {member.size}")
        return plain

    def _table(self, segment: Segment) -> list[Member]:
        if segment.name not in self._tables:
            with self._log.with_name(segment.name).open("rb", buffering=0) as file:
                self._tables[segment.name] = _members(file.fileno(), segment.size)
        return self._tables[segment.name]


def _members(fd: int, size: int) -> list[Member]:
    """The members of a segment of `size` plain bytes, without those whose header is damaged."""
    found: list[Member] = []
    at: int | None = 0
    floor = 0  # up to here all is known
    while at is not None and (not found or found[-1].start + found[-1].size < size):
        member = member_at(at, os.pread(fd, HEADER.size, at))
        begin = found[-1].start + found[-1].size if found else 0
        if member is not None and begin <= member.start and member.start + member.size <= size:
            found.append(member)
            floor, at = at + 1, at + member.packed
        else:
            at = _next_mark(fd, floor)
            floor = at + 1 if at is not None else floor
    return found


def _next_mark(fd: int, at: int) -> int | None:
    """Where the next header begins."""
    while len(data := os.pread(fd, MIB, at)) >= len(HEADER_MARK):
        place = data.find(HEADER_MARK)
        if place >= 0:
            return at + place
        at += len(data) - len(HEADER_MARK) + 1
    return None


def _filler(words: str, size: int, at: int, length: int) -> bytes:
    """A part of the `size` bytes that stand for what can't be read: one line, filled up with NULs, that says why."""
    head = f"\n[sgltui: {words}; {size} bytes are missing here]".encode()[: size - 1]
    end = min(at + length, size)
    piece = head[at:end].ljust(end - at, b"\0")
    return piece[:-1] + b"\n" if end == size else piece
