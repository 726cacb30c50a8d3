"""What a person can do while the finding has the keys."""

from __future__ import annotations

from tui.app.command import Command

TO_THE_LINE = Command(
    "finding.line", ("enter",), "to the line", "Go to the line in the log.", "screen.show_root", footer=61
)
COPY_REPORT = Command(
    "finding.copy", ("c",), "copy report", "Copy a report for a bug tracker.", "screen.copy_report", footer=62
)
EARLIER_ATTEMPTS = Command(
    "finding.attempts", ("p",), "earlier attempts", "Show the attempts at this server.", "screen.history", footer=63
)

FINDING = (TO_THE_LINE, COPY_REPORT, EARLIER_ATTEMPTS)
