"""Who a process is: its owner and its command line, as far as they can be looked up."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import psutil

from tui.keeper.secret_words import in_one_line

T = TypeVar("T")


def describe_process(pid: int) -> tuple[str | None, str | None]:
    """User and command of a process; None for what can't be looked up (gone, another pid namespace).

    The command is raw text of somebody else's making, without secrets. A zombie, which may still hold memory, has only
    a name.
    """
    try:
        process = psutil.Process(pid)
    except psutil.Error:
        return None, None
    with process.oneshot():
        return _ask(process.username), in_one_line(_ask(process.cmdline) or ()) or _ask(process.name)


def _ask(question: Callable[[], T]) -> T | None:
    try:
        return question()
    except psutil.Error:
        return None
