"""Reading SGLang's log line by line: the stamp in front, and what the message says.

Format (0.5.6.post2 to 0.5.23, `utils/common.py` and `managers/scheduler.py`): `[2026-11-29 16:49:08 TP0] message`,
with `.mmm` under SGLANG_LOG_MS, and a rank's tags only for dimensions above 1, in the order DP PP ATTN_CP MOE_DP TP EP.
Lines of the main process and the detokenizer have no tag. Without a stamp come tracebacks, progress bars and warnings.
"""

from __future__ import annotations

import re
from datetime import datetime

from msgspec import Struct

from tui.sglang.log_events import UNSTAMPED, Event
from tui.sglang.log_rules import RULES, STARTS

_STAMP = re.compile(
    r"\[(?P<time>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{3})?)"
    r"(?P<ranks>(?: (?:DP|PP|ATTN_CP|MOE_DP|TP|EP)\d{1,6}){0,6})\](?: |$)",
    re.ASCII,
)
# What `docker logs --timestamps`, `docker compose logs` and `mpirun` put before each line. Another program's own
# logger also begins with a time, but goes on with " - ".
_OUTER = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)? (?!- )"
    r"|[\w.-]{1,64} {1,64}\| "
    r"|\[\d{1,6},\d{1,6}\]<std(?:out|err)>:",
    re.ASCII,
)
_FRAGMENT_LIMIT = 512  # a stamp may follow this much of a bar or of another process's cut line
_EVENT_LIMIT = 8192  # no line that says something is longer; prompts and argument dumps are


class LogLine(Struct, frozen=True):
    """One line without its prefixes.

    Attributes:
        timestamp: the server's local time, or None when the line has no stamp of SGLang's.
        ranks: the rank's tags, e.g. `("DP0", "TP0", "EP0")`; empty for the main process and for a single rank.
        message: what follows.
    """

    timestamp: datetime | None
    ranks: tuple[str, ...]
    message: str


def parse_line(text: str) -> LogLine:
    """One physical line, with or without its end. Of a bar with a stamped line glued to it, the stamped line."""
    return split_line(text)[-1]


def split_line(text: str) -> tuple[LogLine, ...]:
    """The one or two things that a physical line holds.

    Of a bar's redraws, which carriage returns separate, the newest counts. A bar, or a line that another process was
    cut off in, may have a stamped line glued to it: then both are returned, in that order. Inside a stamped line no
    second stamp is looked for, and behind blanks or quotes none is believed: prompts quote logs.
    """
    text = text.rstrip("\r\n").lstrip("\0")  # a hole of NULs stays where a file was truncated under its writer
    if not text.startswith("[2"):
        outer = _OUTER.match(text)
        text = text[outer.end() :] if outer else text
    stamped = _stamped(text, _STAMP.match(text))
    if stamped:
        return (stamped,)
    newest = text.rpartition("\r")[2]
    glued = _STAMP.search(newest, 0, _FRAGMENT_LIMIT)
    if glued and _is_fragment(newest[: glued.start()]):
        stamped = _stamped(newest, glued)
        if stamped:
            return (LogLine(None, (), newest[: glued.start()]), stamped)
    return (LogLine(None, (), newest),)


def parse_event(message: str) -> Event | None:
    """What a message says, or None. Whether it may be believed depends on its stamp: see `event_of`."""
    if not message.startswith(STARTS):
        return None
    head = message[:_EVENT_LIMIT]
    for rule in RULES:
        if head.startswith(rule.start):
            match = rule.pattern.match(head)
            if match:
                return rule.build(match)
    return None


def event_of(line: LogLine) -> Event | None:
    """The event of a line that carries a stamp if and only if lines of its kind do."""
    event = parse_event(line.message)
    if event is None or isinstance(event, UNSTAMPED) == (line.timestamp is not None):
        return None
    return event


def _stamped(text: str, stamp: re.Match[str] | None) -> LogLine | None:
    if stamp is None:
        return None
    try:
        timestamp = datetime.fromisoformat(stamp["time"])
    except ValueError:  # shaped like a date, but none: not SGLang's
        return None
    return LogLine(timestamp, tuple(stamp["ranks"].split()), text[stamp.end() :])


def _is_fragment(head: str) -> bool:
    return not head[-1:].isspace() and "'" not in head and '"' not in head
