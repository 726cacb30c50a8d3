"""What an end that nobody asked for was: `failed`, `exited` or `lost`, by whom, and in words."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from typing import Any

from tui.keeper.evidence import CrashedChild, Evidence
from tui.keeper.states import State

# What people and programs send to be rid of a process. Others (SEGV, ABRT, BUS) come of its own errors.
_SENT = frozenset({signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT})


@dataclass(frozen=True)
class Facts:
    """What is known of an end.

    Attributes:
        returncode: as Python counts it, or None when nobody saw it.
        oom_victim: pid that the kernel killed for want of memory; 0 when only its counter tells of a kill.
    """

    was_ready: bool
    returncode: int | None
    evidence: Evidence
    oom_victim: int | None = None

    @property
    def kernel_victim(self) -> int | None:
        """The same, unless it is no more than a counter, of strangers too, and the log has another account of it."""
        crashed = self.evidence.crashed
        was_killed = crashed is not None and crashed.returncode == -signal.SIGKILL
        return None if self.oom_victim == 0 and self.evidence.failed and not was_killed else self.oom_victim


def judge(facts: Facts) -> dict[str, Any]:
    """The state and the explanation of `exit.json`: `state`, `killed_by`, `crashed`, `explanation`."""
    killed_by, explanation = _explain(facts)
    crashed = facts.evidence.crashed
    return {
        "state": _state(facts),
        "killed_by": killed_by,
        "crashed": None if crashed is None else vars(crashed),
        "explanation": explanation,
    }


def _state(facts: Facts) -> State:
    """`failed` where there was an error, `exited` where there was none, `lost` where nobody could see it."""
    code, evidence = facts.returncode, facts.evidence
    if not facts.was_ready or facts.kernel_victim is not None or evidence.failed:
        return State.FAILED
    if evidence.drained or code == 0:
        return State.EXITED
    if code is None:
        return State.LOST
    return State.EXITED if code < 0 and -code in _SENT else State.FAILED


def _explain(facts: Facts) -> tuple[str | None, str | None]:
    """By whom it was killed, and what happened; None for what isn't known or needs no words."""
    code, evidence = facts.returncode, facts.evidence
    if facts.kernel_victim is not None:
        victim = f"pid {facts.kernel_victim}" if facts.kernel_victim else "a process of it"
        return "kernel", f"the kernel killed {victim} because the machine's memory, or its cgroup's, ran out"
    if evidence.crashed is not None:
        return "itself", f"its {_tell_crash(evidence.crashed)}, so it ended itself"
    if evidence.quit:
        return "itself", "a child process failed, so it ended itself"
    return _explain_by_status(code, drained=evidence.drained)


def _explain_by_status(code: int | None, *, drained: bool) -> tuple[str | None, str | None]:
    """The log tells of no error."""
    if drained:
        return "somebody", "somebody asked it to end, outside of sgltui"
    if code is None:
        return None, "it ended, and nobody saw how: its keeper wasn't its parent"
    if code < 0 and -code in _SENT:
        return "somebody", f"somebody sent {signal.Signals(-code).name}: its log tells of no error"
    return None, None


def _tell_crash(crashed: CrashedChild) -> str:
    code = crashed.returncode
    how = f"ended with status {code}" if code >= 0 else f"was ended by {signal_name(-code)}"
    return f"{crashed.name} (pid {crashed.pid}) {how}"


def signal_name(number: int) -> str:
    """`SIGKILL`; real-time signals have no names of their own."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
