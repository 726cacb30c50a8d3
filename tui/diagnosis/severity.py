"""How loudly a single line is to be shown while a log is read: by the rules, without what comes before or after it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

from tui.diagnosis.findings import FINDING_RULES
from tui.diagnosis.rule import Reach, Role, Rule, Severity
from tui.sglang.loglines import LogLine

_LIMIT = 400


class _Tables(NamedTuple):
    """What is known of lines."""

    parse_line: Callable[[str], LogLine]
    is_echo: Callable[[str], bool]
    candidates: Callable[[str], Sequence[Rule]]


@cache
def _tables() -> _Tables:
    """Fetched at the first line: a hundred patterns take time, and a screen of GPUs and servers does without them."""
    from tui.diagnosis.heads import is_echo  # noqa: PLC0415
    from tui.diagnosis.rules import candidates  # noqa: PLC0415
    from tui.sglang.loglines import parse_line  # noqa: PLC0415

    return _Tables(parse_line, is_echo, candidates)


def severity_of(text: str) -> Severity | None:
    """Of one line as it stands in the log; None for lines that tell of nothing, also where they quote bad words.

    Consequences are errors, so that a person sees where it ended; what ended it is louder.
    """
    parse_line, is_echo, candidates = _tables()
    line = parse_line(text)
    message = line.message[:_LIMIT]
    stamped = line.timestamp is not None
    if not message or message[0].isspace() or (stamped and is_echo(message)):
        return None
    for rule in candidates(message):
        match = rule.pattern.search(message)
        if match is not None and rule.reaches(Reach.STAMPED if stamped else Reach.LINE):
            return Severity.ERROR if rule.role is Role.CONSEQUENCE else rule.severity
    if stamped:
        return next((f.severity for f in FINDING_RULES if f.literal in message and f.pattern.search(message)), None)
    return None
