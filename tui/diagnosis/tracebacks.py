"""Which exception ended a launch, as far as the log tells it simply.

A traceback is fatal where SGLang says so in front of it ("Scheduler hit an exception"), and where nobody caught it: its
outermost frame is then the program itself. Others are logged by code that lives on (a request that failed, an optional
module that isn't installed).
"""

from __future__ import annotations

import re
from enum import Enum

from tui.sglang.log_events import ArgparseError, BindError, Event, ProcessException, Ready, WarmupFailed
from tui.sglang.loglines import LogLine

_TRACEBACK = "Traceback (most recent call last):"
_CHAIN = (
    "The above exception was the direct cause of the following exception:",
    "During handling of the above exception, another exception occurred:",
)
# The outermost frame of an exception that nobody caught: `python -m`, a script or `python -c`, a spawned process.
_UNCAUGHT = re.compile(r'  File "[^"]{0,500}", line \d{1,9}, in (?:_run_module_as_main|<module>|_bootstrap)$', re.ASCII)
# `Name: text`, `package.module.Name: text`, or the name alone. A bare word in lower case is no exception's name.
_HEAD = re.compile(r"(?:(?:\w{1,100}\.){1,20}\w{1,100}|[A-Z]\w{0,100})(?::|$)", re.ASCII)
# What a healthy rank or child says when another one is gone.
_CONSEQUENCES = (
    "Connection closed by peer",
    "Connection reset by peer",
    "Broken pipe",
    "there are other ranks that didn't",
)
_LIMIT = 4096  # characters of an exception's first line that are kept


class _Origin(Enum):
    """Where a traceback comes from."""

    LIVED_THROUGH = "caught and logged; the process went on"
    UNCAUGHT = "printed by Python as the process ended"
    ANNOUNCED = "SGLang said before it that a process ends"


class FatalException:
    """Follows a log's tracebacks; `text` is the head line of the exception that ended the launch, or None.

    The first fatal one counts, since later ones are mostly its consequences, unless it says itself that it is one.
    Of a chain, the last exception counts.
    """

    def __init__(self) -> None:
        self.text: str | None = None
        self._origin = _Origin.LIVED_THROUGH  # of the traceback being read
        self._text_origin = _Origin.LIVED_THROUGH  # of `text`
        self._awaits_frame = False  # the outermost frame comes next
        self._awaits_head = False  # the line that names the exception is still to come
        self._chained = False  # the next traceback goes on with this one
        self._owns_text = False  # `text` is of the chain being read

    def feed(self, line: LogLine, event: Event | None) -> None:
        """The next line, and its event if it has one."""
        if isinstance(event, BindError | ArgparseError):
            self._owns_text = False
            self._record(event.text if isinstance(event, BindError) else line.message, _Origin.ANNOUNCED)
        elif isinstance(event, Ready):
            self._disprove()
        elif line.message.endswith(_TRACEBACK):
            self._begin(line, event)
        elif line.timestamp is None:  # another rank's stamped line may stand in the middle of a traceback
            self._continue(line.message)

    def _begin(self, line: LogLine, event: Event | None) -> None:
        if line.timestamp is not None or not self._chained:
            announced = isinstance(event, ProcessException | WarmupFailed)
            self._origin = _Origin.ANNOUNCED if announced else _Origin.LIVED_THROUGH
            self._owns_text = False
        self._chained = False
        self._awaits_frame = self._awaits_head = True

    def _continue(self, message: str) -> None:
        if message in _CHAIN:
            self._chained = True
        elif self._awaits_frame and message.startswith("  File "):
            self._awaits_frame = False
            if self._origin is _Origin.LIVED_THROUGH and _UNCAUGHT.match(message):
                self._origin = _Origin.UNCAUGHT
        elif self._awaits_head and _HEAD.match(message):
            self._awaits_head = False
            if self._origin is not _Origin.LIVED_THROUGH:
                self._record(message, self._origin)
                self._owns_text = self.text == message[:_LIMIT]

    def _record(self, text: str, origin: _Origin) -> None:
        if self.text is None or self._owns_text or (_is_consequence(self.text) and not _is_consequence(text)):
            self.text, self._text_origin = text[:_LIMIT], origin

    def _disprove(self) -> None:
        """The server is ready: what some helper process died of before wasn't the end."""
        if self._text_origin is _Origin.UNCAUGHT:
            self.text, self._text_origin = None, _Origin.LIVED_THROUGH


def _is_consequence(text: str) -> bool:
    return any(words in text for words in _CONSEQUENCES)
