"""Why a launch isn't running, in a few words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.keeper.identity import boot_id
from tui.keeper.states import ENDED, State
from tui.launch.finding import read_finding
from tui.launch.records import Recorded
from tui.text import printable

if TYPE_CHECKING:
    from tui.diagnosis.stages import StageTracker


def describe_cause(recorded: Recorded, state: State, tracker: StageTracker | None) -> str | None:
    """Why it isn't running, in a few words; None where nothing is to say.

    What was found in its log comes first, then what the log says itself, then what its exit says.

    Args:
        recorded: the launch.
        state: its present state.
        tracker: has read its log, where that may tell something.
    """
    return _with_restart(recorded, _cause(recorded, state, tracker))


def _cause(recorded: Recorded, state: State, tracker: StageTracker | None) -> str | None:
    if state is State.STOPPED:
        return _left_behind(recorded)
    if state is State.FAILED:
        return _failure(recorded, tracker)
    ended = recorded.exit
    if state in ENDED and ended is not None and ended.explanation is not None:
        return printable(ended.explanation)
    return _lost(recorded) if state is State.LOST else None


def _with_restart(recorded: Recorded, cause: str | None) -> str | None:
    """What its restart policy makes of it stands behind the cause."""
    restart = recorded.exit.restart if recorded.exit is not None else None
    if cause is None or restart is None:
        return cause
    if recorded.is_attended or restart.startswith("not "):
        return f"{cause}; {restart}"
    # A dead keeper keeps no promise.
    return f"{cause}; its restart waits for a keeper: sgltui adopt" if recorded.awaits_restart else cause


def _lost(recorded: Recorded) -> str:
    restarted = recorded.launch.machine.boot_id != boot_id()
    return f"gone without a trace: {'the machine was restarted' if restarted else 'its keeper had died before'}"


def _failure(recorded: Recorded, tracker: StageTracker | None) -> str:
    ended = recorded.exit
    if ended is not None and ended.cause is not None:
        return printable(ended.cause)
    if ended is not None and ended.killed_by == "kernel" and ended.explanation is not None:
        return printable(ended.explanation)
    finding = read_finding(recorded)
    if finding is not None and finding.brief is not None:
        return printable(finding.brief)
    if tracker is not None and tracker.exception is not None:
        return _harmless(tracker.exception)
    return f"{_exit_words(recorded)}{_when(recorded, tracker)}"


def _when(recorded: Recorded, tracker: StageTracker | None) -> str:
    if recorded.exit is not None and recorded.exit.was_ready:
        return " after it was ready"
    return f" during {tracker.progress.stage}" if tracker is not None else ""


def _harmless(exception: str) -> str:
    """A line of a log without control codes, and without a secret that was mistyped and is echoed in it."""
    from tui.sglang.command import redact  # noqa: PLC0415 - only what has failed needs it

    return " ".join(redact(printable(exception).split(" ")))


def _left_behind(recorded: Recorded) -> str | None:
    """What a stop couldn't end or bring back."""
    report = recorded.exit.stop if recorded.exit is not None else None
    if report is None:
        return None
    if report.survivors:
        return f"pid {', '.join(map(str, report.survivors))} survived"
    if report.released is False:
        return f"{report.memory_after_gib} GiB of GPU memory hadn't come back when the stop gave up waiting"
    return None


def _exit_words(recorded: Recorded) -> str:
    ended = recorded.exit
    if ended is None or ended.returncode is None:
        return "ended, and nobody saw how"
    if ended.explanation is not None:
        return printable(ended.explanation)
    if ended.signal is not None:
        return f"ended by {ended.signal}"
    return f"ended with status {ended.returncode}"
