"""Who a process is: its owner and its command line, as far as they can be looked up."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

import psutil

T = TypeVar("T")


def describe_process(pid: int) -> tuple[str | None, str | None]:
    """User and command of a process; None for what can't be looked up (gone, another pid namespace).

    The command is raw text of somebody else's making. A zombie, which may still hold memory, has only a name.
    """
    try:
        process = psutil.Process(pid)
    except psutil.Error:
        return None, None
    with process.oneshot():
        return _ask(process.username), join_command(_ask(process.cmdline) or ()) or _ask(process.name)


def join_command(words: Iterable[str]) -> str:
    """One line from an argument vector.

    setproctitle, which SGLang's processes use, writes a title over the vector and leaves the rest of its
    room as blanks or empty arguments.
    """
    return " ".join(" ".join(words).split())


def _ask(question: Callable[[], T]) -> T | None:
    try:
        return question()
    except psutil.Error:
        return None
