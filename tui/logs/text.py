"""One log line from outside, made safe and readable on a screen.

Server logs hold progress bars (states parted by carriage returns), ANSI colours, half characters left by
writers that interrupted each other, NUL bytes where a hole was punched, and whatever users sent as prompts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

LINE_LIMIT = 4000
"""Characters of a line that are shown unless told otherwise."""

_REACH_BYTES = 64 * 1024  # how far from its ends a line is looked at
_BYTES_PER_CHARACTER = 4  # UTF-8 at its longest

# Escape sequences by ECMA-48, introduced by ESC or by the C1 character that stands for it. A string without an end
# loses its introducer only: rather too much on the screen than a line hidden.
_STRING_BODY = "[^\x07\x1b\x90\x98\x9c-\x9f]*"
_ESCAPES = re.compile(
    f"(?:\x1b[\\]PX^_]|[\x90\x98\x9d-\x9f]){_STRING_BODY}(?:\x07|\x1b\\\\|\x9c)"  # OSC, DCS, SOS, PM, APC
    "|(?:\x1b\\[|\x9b)[0-?]*[ -/]*(?:[@-~]|\\Z)"  # CSI
    "|\udc9b[0-?]*[ -/]*[@-Z\\\\-~]"  # CSI as a raw byte; before a `[` it is a broken character's
    "|\x1b[ -/]*[0-~]"  # all others
)

_DROPPED: tuple[range, ...] = (
    range(0x09),  # C0 controls, but for the tab, which is expanded
    range(0x0A, 0x20),
    range(0x7F, 0xA0),  # DEL and C1 controls
    range(0xAD, 0xAE),  # soft hyphen
    range(0x61C, 0x61D),  # Arabic letter mark
    range(0x180E, 0x180F),
    range(0x200B, 0x2010),  # zero width, and direction marks
    range(0x2028, 0x202F),  # line and paragraph separators, direction overrides
    range(0x2060, 0x2070),  # invisible operators, direction isolates
    range(0xFE00, 0xFE10),  # variation selectors: terminals disagree on the width they make
    range(0xFEFF, 0xFF00),
    range(0xFFF9, 0xFFFC),
    range(0xE0000, 0xE0080),  # tags
)
_TRANSLATION: dict[int, str | None] = {code: None for codes in _DROPPED for code in codes}
_TRANSLATION.update(dict.fromkeys(range(0xDC80, 0xDD00), "\ufffd"))  # bytes that aren't UTF-8


def sanitize(line: bytes, *, limit: int = LINE_LIMIT) -> str:
    """One physical line (without its LF) as text without control, escape, direction or invisible characters.

    Of a progress line the newest state that isn't blank is shown, with all that was glued to it. What exceeds `limit`
    characters is cut off and counted: `… (+N)`, where N is characters, and bytes as far as they weren't looked at. The
    work is bounded, however long the line is.
    """
    for start, stop in _states(line):
        seen = line[start : min(stop, start + _REACH_BYTES)]
        packed = seen.replace(b"\0", b"")
        window = packed[: limit * _BYTES_PER_CHARACTER]
        text = _clean(window)
        if text and not text.isspace():
            return _cut(text, limit, stop - start - len(seen) + len(packed) - len(window))
    return ""


def _states(line: bytes) -> Iterator[tuple[int, int]]:
    """Bounds of what stands between carriage returns, newest first; of a very long line only near its ends."""
    stop = len(line)
    floor = max(0, stop - _REACH_BYTES)
    while start := line.rfind(b"\r", floor, stop) + 1:
        yield start, stop
        stop = start - 1
    yield line.rfind(b"\r", 0, min(floor, _REACH_BYTES)) + 1, stop
    if floor:
        yield floor, stop  # the end of a state whose beginning is blank, as after a hole


def _clean(state: bytes) -> str:
    if state.isascii() and (text := state.decode("ascii")).isprintable():
        return text
    text = state.decode("utf-8", "surrogateescape")
    return _ESCAPES.sub("", text).translate(_TRANSLATION).expandtabs()


def _cut(text: str, limit: int, unseen_bytes: int) -> str:
    missing = max(0, len(text) - limit) + unseen_bytes
    return f"{text[:limit]}… (+{missing})" if missing else text
