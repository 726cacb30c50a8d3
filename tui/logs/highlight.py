"""What kind of line a sanitised log line is, by the prefixes that SGLang, uvicorn, Python and torch really print.

The word "error" alone means nothing: it stands in arguments, import notes, access lines and users' prompts.
"""

from __future__ import annotations

import re
from enum import Enum, auto
from typing import NamedTuple


class LineKind(Enum):
    """Kinds of lines that look different."""

    PLAIN = auto()
    ACCESS = auto()
    BATCH = auto()
    WARNING = auto()
    ERROR = auto()
    TRACEBACK = auto()
    READY = auto()


class Parts(NamedTuple):
    """A line in pieces that add up to it: what stands before its stamp, `[time] ` or `[time`, ` TP0] `, the message."""

    lead: str
    time: str
    ranks: str
    body: str


# "[2026-11-29 16:49:08 TP0] ", "[20:52:05] ", with milliseconds, with several ranks; also glued behind a progress bar
# or behind another process' unfinished line.
_STAMP = re.compile(
    r"(?P<time>\[(?:\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d(?:\.\d+)?(?P<bare>\] ?)?)"
    r"(?P<ranks>(?(bare)|(?: [A-Z_]+\d+)+\] ?))"
)
_TORCH_RANK = re.compile(r"\[rank\d+\]: ?")  # torch puts it before each line of a rank's traceback

_BATCH = re.compile(r"(?:Prefill|Decode) batch\b")
_ACCESS = re.compile(r'INFO: +\S+:\d+ - "')
_READY = "The server is fired up and ready to roll!"
_DUMPS = ("server_args=", "Receive: obj=", "Finish: obj=")  # arguments and prompts: they may hold anything

_ERROR = re.compile(
    r"(?:ERROR|CRITICAL|FATAL)(?::| )"  # uvicorn, and level names
    r"|(?:[A-Za-z_]\w*\.)*(?:[A-Z]\w*)?(?:Error|Exception|Interrupt|SystemExit|OutOfResources)(?::|$)"  # Python
    r"|(?:\S+|sglang serve): (?:fatal )?error: "  # argparse, compilers
    r"|Fatal Python error: |terminate called |CUDA error: |Memory access fault by GPU"
    r"|\S+\.cuh?:\d+: .*Assertion "
    r"|E\d{4} |\[E\d{3,4} "  # glog, torch
    r"|(?:\S+: line \d+: +\d+ )?(?:Killed|Aborted|Segmentation fault|Bus error)(?:$| \(core dumped\)|  )"  # shells
    r"|\w+ hit an exception: |Initialization failed\. |Received sigquit from a child|SIGQUIT received\."
    r"|Subprocess \S+ \(pid=\d+\) crashed|Rank \d+ scheduler is dead|\w+ watchdog timeout "
    r"|Health check failed\. |(?:Prefill|Decode) out of memory\."
)
_TRACEBACK = re.compile(
    r".*Traceback \(most recent call last\):$"
    r'|  File ".*", line \d+'
    r"| +[~^]+$"
    r"|The above exception was the direct cause of the following exception:$"
    r"|During handling of the above exception, another exception occurred:$"
)
_WARNING = re.compile(
    r"WARNING(?::| )|Warning: "
    r"|(?:\S+|<[\w ]+>):\d+: \w+Warning: "  # Python's warnings
    r"|W\d{4} |\[W\d{3,4} "  # glog, torch
    r"|\S+:\d+:\d+ \[\d+\] NCCL WARN "
    r"|KV cache pool is full\. Retract requests\.|max_total_tokens=\d+ is larger than the profiled value"
    r"|.{1,80} is deprecated and will be removed "
)
_LEVEL = re.compile(r"\d{4}-\d\d-\d\d[T ]\S+ +(?:- )?(?:\S+ - )?(ERROR|CRITICAL|WARN)")  # loggers of other packages


def split(text: str) -> Parts:
    """Part a sanitised line."""
    if stamp := _STAMP.search(text):
        return Parts(text[: stamp.start()], stamp["time"], stamp["ranks"], text[stamp.end() :])
    if rank := _TORCH_RANK.match(text):
        return Parts("", "", rank[0], text[rank.end() :])
    return Parts("", "", "", text)


def classify(text: str) -> LineKind:
    """The kind of a sanitised line."""
    return kind_of(split(text))


def kind_of(parts: Parts) -> LineKind:
    """The kind of a line in parts: that of its message, or of what the message was glued to."""
    return _kind(parts.body) or _kind(parts.lead) or LineKind.PLAIN


def _kind(message: str) -> LineKind | None:
    if message.startswith(_DUMPS):
        return LineKind.PLAIN
    if message.startswith(_READY):
        return LineKind.READY
    if level := _LEVEL.match(message):
        return LineKind.WARNING if level[1] == "WARN" else LineKind.ERROR
    return next((kind for rule, kind in _RULES if rule.match(message)), None)


_RULES = (
    (_BATCH, LineKind.BATCH),
    (_ACCESS, LineKind.ACCESS),
    (_ERROR, LineKind.ERROR),
    (_TRACEBACK, LineKind.TRACEBACK),
    (_WARNING, LineKind.WARNING),
)
