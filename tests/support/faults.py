"""The faults of the fault matrix: what can be hit at each step of a start and a stop, and what must come of it.

`python -m tests.support.faults` writes the table into docs/supervision.md; a test holds the two together.
"""

from __future__ import annotations

from pathlib import Path

from tui.keeper.steps import START_STEPS, STOP_STEPS

DOCUMENT = Path(__file__).parents[2] / "docs" / "supervision.md"
_BEGIN, _END = "<!-- fault matrix: begin -->\n", "<!-- fault matrix: end -->\n"

FRONT, KEEPER, SUSPENDED = "front end killed", "keeper killed", "keeper suspended"
MAIN, SCHEDULER, DETOKENIZER = "main killed", "scheduler killed", "detokenizer killed"
DISK, RECORD, CLOCK = "disk full", "record cut", "clock jump"
FAULTS = (FRONT, KEEPER, SUSPENDED, MAIN, SCHEDULER, DETOKENIZER, DISK, RECORD, CLOCK)

# What may come of it, after whoever looks next has adopted what needs a keeper and stopped what runs.
GOES_ON = "goes on"  # under its keeper, or under the next one; ended as asked
NEVER_RAN = "never ran"  # no server was started, and none is; the name is free
FAILED = "failed"
EXITED = "exited"
STATES = {GOES_ON: {"stopped"}, NEVER_RAN: {"lost", "pending", "failed"}, FAILED: {"failed"}, EXITED: {"exited"}}

_BEFORE_SERVER = ("launcher-recorded", "keeper-attends")
_WAITING = ("keeper-spawned", "keeper-recorded")
_RUNNING = ("keeper-started", "keeper-loading", "keeper-ready")
_STOPPING = ("asker-asks", "keeper-asked", "keeper-stopping", "keeper-drains", "keeper-kills")


def expected(step: str, fault: str) -> tuple[str, ...]:
    """What may come of the fault at the step; nothing where there is nothing to hit."""
    return _at_start(step, fault) if step in START_STEPS else _at_stop(step, fault)


def cells() -> list[tuple[str, str]]:
    """Every step with every fault that can hit there."""
    return [(step, fault) for step in (*START_STEPS, *STOP_STEPS) for fault in FAULTS if expected(step, fault)]


def _at_start(step: str, fault: str) -> tuple[str, ...]:
    if step == "launcher-recorded":
        return {FRONT: (NEVER_RAN,), CLOCK: (GOES_ON,)}.get(fault, ())
    if fault == KEEPER:
        return (GOES_ON,) if step in _RUNNING else (NEVER_RAN,)
    if fault == DISK:
        return _when_the_disk_is_full(step)
    if fault in (MAIN, SCHEDULER, DETOKENIZER):
        return _when_a_part_dies(step, fault)
    return (GOES_ON,)


def _when_the_disk_is_full(step: str) -> tuple[str, ...]:
    if step in ("keeper-attends", "keeper-spawned"):
        return (NEVER_RAN,)
    # Its log is on the same disk, and a server that can't write a line of it may end for that.
    return (GOES_ON,) if step == "keeper-ready" else (GOES_ON, FAILED)


def _when_a_part_dies(step: str, fault: str) -> tuple[str, ...]:
    if step in _BEFORE_SERVER or (fault != MAIN and step in _WAITING):
        return ()
    if fault == MAIN:
        return (EXITED,) if step == "keeper-ready" else (FAILED,)
    # Until it serves, SGLang may notice the loss of its detokenizer late; then it is stopped as it is.
    return (FAILED,) if step == "keeper-ready" else (FAILED, GOES_ON)


def _at_stop(step: str, fault: str) -> tuple[str, ...]:
    if fault in (MAIN, SCHEDULER, DETOKENIZER):
        if step not in _STOPPING:
            return ()
        if step not in ("asker-asks", "keeper-asked"):
            return (GOES_ON,)
        # Before anything of the stop is on record the server is found to have ended by itself; of a child that ends,
        # its main process may learn too late.
        return (EXITED,) if fault == MAIN else (GOES_ON, FAILED, EXITED)
    return (GOES_ON,)


def table() -> str:
    """The matrix in Markdown."""
    head = ["step", *FAULTS]
    rows = [[f"`{step}`", *(" or ".join(expected(step, fault)) or "-" for fault in FAULTS)] for step in _steps()]
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _steps() -> tuple[str, ...]:
    return (*START_STEPS, *STOP_STEPS)


def document_with(text: str, matrix: str) -> str:
    """The document with this matrix in its place."""
    before, _, rest = text.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    return f"{before}{_BEGIN}{matrix}{_END}{after}"


if __name__ == "__main__":
    DOCUMENT.write_text(document_with(DOCUMENT.read_text(), table()))
