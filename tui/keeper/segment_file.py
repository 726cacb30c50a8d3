"""Compressed parts of a log: gzip members of 1 MiB each, one behind the other, so `zcat` reads them as one.

Each member says in the extra field of its header (RFC 1952, 2.3.1.1; subfield `SL`) how long it is and where it
belongs, as BGZF does: a reader finds any byte by unpacking 1 MiB, and its way past a damaged member.
"""

from __future__ import annotations

import os
import struct
import zlib
from pathlib import Path
from typing import NamedTuple

from tui.atomic import sync_directory
from tui.keeper.holes import write_out

MEMBER_BYTES = 1 << 20
_LEVEL = 1  # 8 times smaller; each further level costs more time than it saves space
# Magic, deflate, extra field; no time; no hint, unknown system; 16 bytes of extra field: `SL`, 12 bytes long.
HEADER_MARK = b"\x1f\x8b\x08\x04" + bytes(4) + b"\x00\xff\x10\x00SL\x0c\x00"
HEADER = struct.Struct(f"<{len(HEADER_MARK)}sLLL")
_TRAILER = struct.Struct("<LL")


class Member(NamedTuple):
    """Where a member is.

    Attributes:
        at: byte of the file at which it begins.
        packed: its length there.
        start: first byte of the segment that it holds.
        size: how many it holds.
    """

    at: int
    packed: int
    start: int
    size: int


def pack(data: bytes, start: int) -> bytes:
    """One member, which holds the bytes of its segment from `start` on."""
    deflate = zlib.compressobj(_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
    body = deflate.compress(data) + deflate.flush()
    packed = HEADER.size + len(body) + _TRAILER.size
    return HEADER.pack(HEADER_MARK, packed, start, len(data)) + body + _TRAILER.pack(zlib.crc32(data), len(data))


def member_at(at: int, header: bytes) -> Member | None:
    """The member whose header these bytes are, or None when they are none."""
    if len(header) < HEADER.size or not header.startswith(HEADER_MARK):
        return None
    _, packed, start, size = HEADER.unpack(header[: HEADER.size])
    return Member(at, packed, start, size)


def unpack(data: bytes) -> bytes:
    """What a member holds.

    Raises:
        ValueError: it is damaged.
    """
    inflate = zlib.decompressobj(zlib.MAX_WBITS | 16)
    try:
        plain = inflate.decompress(data)
    except zlib.error as error:
        raise ValueError(str(error)) from error
    if not inflate.eof:
        raise ValueError("incomplete")
    return plain


def write_segment(source: int, begin: int, size: int, path: Path) -> int:
    """Compress `size` bytes of a file from `begin` on; the segment is there whole and durable, or not at all.

    Args:
        source: descriptor of the log.
        begin: place in its file.
        size: how much.
        path: the segment's; replaced if an unfinished attempt has left one.

    Returns:
        Bytes of the segment's file.
    """
    temporary = path.with_name(f".{path.name}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(temporary, flags, 0o600), "wb") as target:
        for start in range(0, size, MEMBER_BYTES):
            length = min(MEMBER_BYTES, size - start)
            data = os.pread(source, length, begin + start)
            if len(data) != length:
                raise OSError(f"{path.name}: the log became shorter while it was archived")
            target.write(pack(data, start))
            write_out(source, begin + start, length)  # now and bit by bit: nobody waits for all of it at once
        target.flush()
        os.fsync(target.fileno())
        packed = target.tell()
    temporary.replace(path)
    sync_directory(path.parent)
    return packed
