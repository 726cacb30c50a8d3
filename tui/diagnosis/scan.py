"""Which lines of a log are worth a look: all but those that begin like a batch, an access or an echo.

A server that works logs hardly anything else, so a healthy log is skipped at the speed of a byte search. The echoes
(requests and answers that are logged whole) are left out for another reason: they quote whatever users send.
"""

from __future__ import annotations

import re
from datetime import datetime

_STAMP = rb"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{3})?(?: [A-Z_]{2,7}\d{1,6}){0,6}\] "
# A batch's line holds no second `[`, unless another process' line is glued to it: that one is worth a look.
_USUAL = (
    rb"(?:Decode|Prefill) batch(?: \[\d{1,9}\])?,[^\[\n]*\n"
    rb"|INFO:     \S{1,80} - \"|Receive: obj=|Finish: obj="
)
_UNUSUAL = re.compile(rb"\n(?!%s(?:%s))" % (_STAMP, _USUAL))
_WORK = re.compile(
    rb"\] (?:Decode batch|Prefill batch(?: \[\d{1,9}\])?, #new-seq: (?!1, #new-token: 1, #cached-token: 0,))"
)
_LIFE = (b"] Decode batch", b"] Prefill batch", b'" 200 OK')

CARRY_BYTES = 256 * 1024
"""Of a line that isn't ended more is not kept."""
LINE_BYTES = 16 * 1024
"""Of a line more is not looked at, from its beginning; of a progress bar from its newest state."""
_ARGUMENTS_BYTES = 128 * 1024
_ARGUMENTS = b"server_args="
_ARGUMENTS_WITHIN = 200


def find_unusual(text: bytes, start: int) -> int:
    """Where the next line that is worth a look begins, or the length of `text`.

    Args:
        text: complete lines, each with an LF in front and behind.
        start: where the LF in front of the next line stands.
    """
    match = _UNUSUAL.search(text, start)
    return len(text) if match is None else match.end()


def shows_life(text: bytes, start: int, stop: int) -> bool:
    """Whether a skipped region tells of work or of answered requests."""
    return any(text.find(sign, start, stop) >= 0 for sign in _LIFE)


def find_work(text: bytes, start: int, stop: int) -> tuple[int, int] | None:
    """Bounds of the first line of a skipped region that tells of a batch other than a health probe's."""
    match = _WORK.search(text, start, stop)
    if match is None:
        return None
    return text.rfind(b"\n", 0, match.start()) + 1, text.index(b"\n", match.start())


def last_time(text: bytes) -> datetime | None:
    """The newest time stamp that begins a line; None where none does, as behind another program's prefix."""
    at = text.rfind(b"\n[2")
    try:
        return None if at < 0 else datetime.fromisoformat(text[at + 2 : at + 21].decode("ascii", "replace"))
    except ValueError:
        return None


def shorten(line: bytes) -> bytes:
    """As much of a line as is looked at; a hole of NULs in front of it is left out."""
    line = line.lstrip(b"\0")
    if len(line) <= LINE_BYTES:
        return line
    if _ARGUMENTS in line[:_ARGUMENTS_WITHIN]:
        return line[:_ARGUMENTS_BYTES]
    newest = line.rfind(b"\r", 0, len(line) - 1) + 1
    return line[newest : newest + LINE_BYTES] if newest and not line.startswith(b"[2") else line[:LINE_BYTES]


def is_plain(text: str) -> bool:
    """No redraws of a bar, and no other process' stamped line glued to it."""
    return "\r" not in text[:-1] and "[2" not in text


def shorten_carry(carry: bytes) -> bytes:
    """A line without an end in sight: its beginning, and its end for the newest state of a bar."""
    if len(carry) <= 2 * CARRY_BYTES:
        return carry
    return carry.lstrip(b"\0")[:CARRY_BYTES] + carry[-CARRY_BYTES:]
