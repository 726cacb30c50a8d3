"""How a launch ends on record: stopped, ended by itself, or found dead; by its keeper or by who stands in for it."""

from __future__ import annotations

from collections.abc import Callable

from tui.keeper.run import Run, describe_exit
from tui.keeper.states import ALIVE, State
from tui.keeper.stop import Stopper, StopRequest

_STATUS_LIMIT_S = 5.0

Further = Callable[[], "StopRequest | None"]


def stop(run: Run, request: StopRequest, further: Further) -> None:
    """End a launch that runs, and record it.

    Args:
        run: the launch; no end of it is on record.
        request: how.
        further: gives what has been asked meanwhile.
    """
    records = run.records
    was_ready = records.state is State.READY
    run.members.scan()
    run.record_members()  # whoever may have to go on without us finds them all
    found_alive = bool(run.members.alive())
    if found_alive and records.state is not State.STOPPING:
        records.move(State.STOPPING)
    report = Stopper(run, request, further).stop()
    run.wait_for_status(_STATUS_LIMIT_S)
    # Found dead, and nobody saw how: that isn't a stop.
    state = State.STOPPED if found_alive or records.state in {State.STOPPING, State.PENDING} else State.LOST
    run.record_members()
    records.end(state, asked=True, was_ready=was_ready, stop=report, **describe_exit(run.exit_status))


def end_by_itself(run: Run, further: Further) -> None:
    """Record that the server has ended, at once; then see that nothing of it is left behind."""
    records = run.records
    was_ready = records.state is State.READY
    run.members.scan()
    run.record_members()
    fields = describe_exit(run.exit_status)
    state = State.EXITED if was_ready and fields["returncode"] == 0 else State.FAILED
    records.end(state, asked=False, was_ready=was_ready, **fields)
    clean_up(run, StopRequest(grace_s=0), further)


def clean_up(run: Run, request: StopRequest, further: Further) -> None:
    """End what is left of a launch whose end is on record; its end stays what it was."""
    report = Stopper(run, request, further).stop()
    run.record_members()
    document = run.records.amend_end(stop=report)
    if run.records.state in ALIVE:  # its keeper died between the two records
        run.records.move(State(document["state"]))
