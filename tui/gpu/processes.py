"""Who a process is: its owner and its command line, as far as they can be looked up."""

from __future__ import annotations

from tui.keeper import procfs


def describe_process(pid: int) -> tuple[str | None, str | None]:
    """User and command of a process; None for what can't be looked up (gone, another pid namespace).

    The command is text of somebody else's making, without secrets. A zombie, which may still hold memory, has only a
    name.
    """
    return procfs.user(pid), procfs.shown_command(pid) or None
