"""Where in a log a moment is, by the stamps of its lines."""

from __future__ import annotations

import re

from tui.logs.file import LogFile
from tui.logs.search import blocks_from

_STAMP = re.compile(rb"\[(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)")
_ASKED = re.compile(r"(?:(\d{4}-\d\d-\d\d)[ T])?(\d\d?):(\d\d)(?::(\d\d))?")
_NEAR_BYTES = 64 * 1024


def parse_moment(text: str) -> tuple[str, str] | None:
    """Date (or nothing) and time of day of `12:30`, `12:30:05` or `2026-11-29 12:30`; None when it is none of these."""
    match = _ASKED.fullmatch(text.strip())
    if match is None:
        return None
    date, hours, minutes, seconds = match.groups()
    return date or "", f"{int(hours):02d}:{minutes}:{seconds or '00'}"


def find_moment(file: LogFile, date: str, time: str) -> int | None:
    """Offset of the first stamped line at or after a moment; None when no line is that late, or stamped.

    Without a date the last day of the log is meant, or the day before if its last line is earlier than that.
    """
    last = _last_stamp(file)
    if last is None:
        return None
    if not date:
        date = last[:10].decode() if time <= last[11:].decode() else _date_before(file, last)
    wanted = f"{date} {time}".encode()
    if wanted > last:
        return None
    low, high = file.start, file.size()
    while high - low > _NEAR_BYTES:
        middle = (low + high) // 2
        stamp = _first_stamp(file, middle)
        low, high = (middle, high) if stamp is not None and stamp < wanted else (low, middle)
    return _first_line_from(file, low, wanted)


def _first_stamp(file: LogFile, offset: int) -> bytes | None:
    match = _STAMP.search(file.read(offset, _NEAR_BYTES))
    return b" ".join(match.groups()) if match else None


def _last_stamp(file: LogFile) -> bytes | None:
    end = file.size()
    while end > file.start:
        begin = max(file.start, end - _NEAR_BYTES)
        stamps = _STAMP.findall(file.read(begin, end - begin))
        if stamps:
            return b" ".join(stamps[-1])
        end = begin
    return None


def _date_before(file: LogFile, last: bytes) -> str:
    """The day before the last one that has lines in the log, or the last one if there is none."""
    offset = find_moment(file, last[:10].decode(), "00:00:00")
    if offset is None or offset <= file.start:
        return last[:10].decode()
    begin = max(file.start, offset - _NEAR_BYTES)
    stamps = _STAMP.findall(file.read(begin, offset - begin))
    return (stamps[-1][0] if stamps else last[:10]).decode()


def _first_line_from(file: LogFile, low: int, wanted: bytes) -> int | None:
    begin = max(file.start, low - _NEAR_BYTES)
    begin += file.read(begin, _NEAR_BYTES).find(b"\n") + 1 if begin > file.start else 0
    for offset, data in blocks_from(file, begin):
        at = offset
        for line in data.split(b"\n"):
            match = _STAMP.search(line)
            if match and b" ".join(match.groups()) >= wanted:
                return at
            at += len(line) + 1
    return None
