"""How a launch ends on record: stopped, ended by itself, or found dead; by its keeper or by who stands in for it."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable

from tui.keeper.evidence import read_evidence
from tui.keeper.explaining import explain_apart
from tui.keeper.run import Run, describe_exit
from tui.keeper.states import ALIVE, State
from tui.keeper.steps import step
from tui.keeper.stop import Stopper, StopRequest
from tui.keeper.verdict import Facts, judge

_STATUS_LIMIT_S = 5.0
# Where the kernel may have had a hand in it: killed, or (not our child) nobody knows.
_KILLED = frozenset({-signal.SIGKILL, None})

Further = Callable[[], "StopRequest | None"]


def stop(run: Run, request: StopRequest, further: Further) -> None:
    """End a launch that runs, and record it.

    Args:
        run: the launch; no end of it is on record.
        request: how.
        further: gives what has been asked meanwhile.
    """
    records = run.records
    run.members.scan()
    run.record_members()  # whoever may have to go on without us finds them all
    found_alive = bool(run.members.alive())
    if records.state is not State.STOPPING:
        run.reap()
        if not found_alive:
            run.wait_for_status(_STATUS_LIMIT_S)
        if run.exit_status is not None:
            end_by_itself(run, further, asked=True)  # before anything was done about it, which must not hide how
            return
    if found_alive and records.state is not State.STOPPING:
        # Whoever may have to go on also needs to know what was asked.
        records.move(State.STOPPING, stop_request=vars(request), was_ready=records.state is State.READY)
    step("keeper-stopping")
    report = Stopper(run, request, further).stop()
    step("keeper-reports")
    run.wait_for_status(_STATUS_LIMIT_S)
    # Found dead, and nobody saw how: that isn't a stop.
    state = State.STOPPED if found_alive or records.state in {State.STOPPING, State.PENDING} else State.LOST
    run.record_members()
    was_ready = _was_ready(run)
    records.end(state, asked=True, was_ready=was_ready, stop=report, **describe_exit(run.exit_status))


def end_by_itself(run: Run, further: Further, *, asked: bool = False) -> None:
    """Record that the server has ended, at once; then see that nothing of it is left behind.

    Args:
        run: the launch.
        further: gives what is asked meanwhile.
        asked: a stop came just then, so that it isn't to be launched again.
    """
    records = run.records
    was_ready = records.state is State.READY
    run.members.scan()
    run.record_members()
    status = describe_exit(run.exit_status)
    killed = status["returncode"] in _KILLED
    victim = run.oom_victim() if killed else None
    verdict = judge(Facts(was_ready, status["returncode"], read_evidence(records.files.log), victim))
    records.end(verdict.pop("state"), asked=asked, was_ready=was_ready, **status, **verdict)
    explain_apart(records.files)
    step("keeper-cleans-up")
    clean_up(run, StopRequest(grace_s=0), further)


def is_unfinished(run: Run) -> bool:
    """There is nothing to watch any more, but something to bring to its end."""
    records = run.records
    return records.files.exit.exists() or records.state is State.STOPPING or run.server_is_gone()


def finish(run: Run, further: Further) -> None:
    """Bring to its end what a keeper that died had begun, or what ended while nobody watched."""
    records = run.records
    if records.files.exit.exists():
        _finish_ended(run, further)
    elif records.state is State.STOPPING:
        stop(run, StopRequest(**records.read().get("stop_request", {})), further)
    else:
        run.members.scan()
        run.record_members()
        records.end(State.LOST, asked=False, was_ready=_was_ready(run), **describe_exit(None))
        explain_apart(records.files)
        clean_up(run, StopRequest(grace_s=0), further)


def _finish_ended(run: Run, further: Further) -> None:
    run.members.scan()
    document = json.loads(run.records.files.exit.read_bytes())
    if run.members.alive() or not document.get("stop"):
        clean_up(run, StopRequest(grace_s=0), further)
    elif run.records.state in ALIVE:
        run.records.move(State(document["state"]))


def clean_up(run: Run, request: StopRequest, further: Further) -> None:
    """End what is left of a launch whose end is on record; its end stays what it was."""
    report = Stopper(run, request, further).stop()
    run.record_members()
    document = run.records.amend_end(stop=report)
    if run.records.state in ALIVE:  # its keeper died between the two records
        run.records.move(State(document["state"]))


def _was_ready(run: Run) -> bool:
    """Before the stop, if there is one."""
    recorded: bool = run.records.read().get("was_ready", run.records.state is State.READY)
    return recorded
