"""Which sockets listen on a TCP port. The kernel is asked for those; its tables of all sockets are the last resort.

To read /proc/net/tcp, the kernel walks the hash table of every connection that it could have, each time: 5 ms for each
family on a small machine, and far more on a large one, whoever listens. Socket diagnostics take 0.06 ms.
"""

from __future__ import annotations

import socket
import struct
import sys
from collections.abc import Iterator
from functools import partial

from tui.keeper.identity import PROC

Listener = tuple[bytes, int]
"""The address it listens on, packed as `socket.inet_pton` does, and its inode."""

# linux/netlink.h, linux/sock_diag.h and linux/inet_diag.h: none of it is in Python's `socket`.
_NETLINK_SOCK_DIAG = 4
_SOCK_DIAG_BY_FAMILY = 20
_REQUEST, _DUMP = 0x1, 0x300
_ERROR, _DONE = 2, 3
_LISTEN = 10  # net/tcp_states.h
_HEADER = struct.Struct("=IHHII")  # length, type, flags, sequence, pid
_QUESTION = struct.Struct("=BBBxI2sxx16x16x12x")  # family, protocol, extensions, states; a socket's port and addresses
_ANSWER = struct.Struct("=BBxx2sxx16s16x12x16xI")  # family, state; port, address; inode
_BUFFER_BYTES = 1 << 16
_LIMIT_S = 1.0


def listeners(port: int) -> list[Listener]:
    """The TCP sockets that listen on `port`; of this network namespace."""
    found = []
    for family, table in ((socket.AF_INET, "net/tcp"), (socket.AF_INET6, "net/tcp6")):
        try:
            found += _asked(family, port)
        except OSError:  # not in this kernel, or not for who lives in this container
            found += _read(table, port)
    return found


def _asked(family: socket.AddressFamily, port: int) -> list[Listener]:
    """What the kernel answers.

    Raises:
        OSError: it doesn't.
    """
    wanted = struct.pack(">H", port)
    question = _QUESTION.pack(family, socket.IPPROTO_TCP, 0, 1 << _LISTEN, wanted)
    header = _HEADER.pack(_HEADER.size + len(question), _SOCK_DIAG_BY_FAMILY, _REQUEST | _DUMP, 0, 0)
    found: list[Listener] = []
    with socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, _NETLINK_SOCK_DIAG) as kernel:
        kernel.settimeout(_LIMIT_S)
        kernel.send(header + question)
        for block in iter(partial(kernel.recv, _BUFFER_BYTES), b""):
            for kind, body in _messages(block):
                if kind == _DONE:
                    return found
                if kind == _ERROR:
                    raise OSError(-struct.unpack_from("=i", body)[0], "no socket diagnostics")
                _, state, number, address, inode = _ANSWER.unpack_from(body)
                if state == _LISTEN and number == wanted:  # the kernel need not look for the port
                    found.append((address[: 4 if family == socket.AF_INET else 16], inode))
    raise OSError("the kernel stopped in the middle of its answer")


def _messages(block: bytes) -> Iterator[tuple[int, bytes]]:
    """Type and body of each message; they begin at multiples of 4 bytes."""
    at = 0
    while at < len(block):
        length, kind, *_ = _HEADER.unpack_from(block, at)
        if length < _HEADER.size:
            raise OSError("the kernel's answer can't be read")
        yield kind, block[at + _HEADER.size : at + length]
        at += -(-length // 4) * 4


def _read(table: str, port: int) -> list[Listener]:
    """The same from a table in /proc."""
    try:
        lines = (PROC / table).read_text().splitlines()[1:]
    except FileNotFoundError:  # no IPv6
        return []
    found = []
    for line in lines:
        fields = line.split()
        address, _, number = fields[1].rpartition(":")
        if int(fields[3], 16) == _LISTEN and int(number, 16) == port:
            found.append((_packed(address), int(fields[9])))
    return found


def _packed(address: str) -> bytes:
    """An address as the kernel prints it: hexadecimal words of 4 bytes, each in the machine's own order."""
    words = (int(address[at : at + 8], 16) for at in range(0, len(address), 8))
    return b"".join(word.to_bytes(4, sys.byteorder) for word in words)
