"""A stream that takes its time (`SGLTUI_SIM="answer=slow"`)."""

from __future__ import annotations

import io
import time
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer  # the type checker's own, not there at run time

_BYTE_S = 1.0


class Dribble(io.BufferedIOBase):
    """Writes one byte a second to another stream."""

    def __init__(self, stream: BinaryIO | io.BufferedIOBase) -> None:
        self._stream = stream

    def writable(self) -> bool:
        """It is all it can do."""
        return True

    def write(self, data: ReadableBuffer, /) -> int:
        """All of it; returns when the last byte is out."""
        content = bytes(data)
        for index in range(len(content)):
            self._stream.write(content[index : index + 1])
            time.sleep(_BYTE_S)
        return len(content)
