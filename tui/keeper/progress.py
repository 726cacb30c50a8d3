"""Lines of the log that the keeper itself waits for: the server begins to load weights, or says that it is ready."""

from __future__ import annotations

from pathlib import Path

# Closed by the bracket of SGLang's time stamp, so that an echo of these words isn't taken for it (0.4 to 0.5.23).
LOADING = b"] Load weight begin."
SAYS_READY = b"] The server is fired up and ready to roll!"  # no proof of it: another server may answer on its port
_READ_BYTES = 1 << 20


class LineWatch:
    """Reads what was appended to a log until the line is seen."""

    def __init__(self, log: Path, mark: bytes) -> None:
        self._log = log
        self._mark = mark
        self._offset = 0
        self._tail = b""
        self._seen = False

    def has_come(self) -> bool:
        """The line has been written; costs one read of what is new, and nothing once it was seen."""
        if not self._seen:
            try:
                with self._log.open("rb") as file:
                    file.seek(self._offset)
                    data = file.read(_READ_BYTES)
            except OSError:  # somebody removed it, or its disk is away; the server goes on all the same
                return False
            self._offset += len(data)
            window = self._tail + data
            self._seen = self._mark in window
            self._tail = window[-len(self._mark) :]
        return self._seen
