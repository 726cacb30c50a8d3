"""The states of a launch and the moves between them that are legal."""

from __future__ import annotations

from enum import Enum


class State(str, Enum):
    """Where a launch is in its life."""

    PENDING = "pending"  # recorded, nothing started yet
    STARTING = "starting"  # the process runs; interpreter and imports
    LOADING = "loading"  # weights, pools, graphs, warm-up
    READY = "ready"  # proved: alive, our port, answers
    STOPPING = "stopping"  # asked to stop; members or memory are still there
    STOPPED = "stopped"  # ended because it was asked to
    EXITED = "exited"  # ended without being asked by us, and without an error: by itself, or by somebody's signal
    FAILED = "failed"  # ended with an error: before it was ready, or of one at run time
    LOST = "lost"  # gone, and nobody could see how

    def __str__(self) -> str:
        """The word itself, also under Python 3.11 and later."""
        return str(self.value)


ALIVE = frozenset({State.PENDING, State.STARTING, State.LOADING, State.READY, State.STOPPING})
ENDED = frozenset(State) - ALIVE

LEGAL = {
    State.PENDING: frozenset({State.STARTING, State.STOPPING}) | ENDED,
    State.STARTING: frozenset({State.LOADING, State.READY, State.STOPPING}) | ENDED,
    State.LOADING: frozenset({State.READY, State.STOPPING}) | ENDED,
    State.READY: frozenset({State.STOPPING}) | ENDED,
    State.STOPPING: frozenset({State.STOPPED, State.FAILED, State.LOST}),
}


class IllegalTransitionError(Exception):
    """A bug: a state change that the life of a launch doesn't have."""


def check_transition(old: State, new: State) -> None:
    """Refuse a move that isn't in the table.

    Raises:
        IllegalTransitionError: the move isn't legal.
    """
    if new not in LEGAL.get(old, frozenset()):
        raise IllegalTransitionError(f"{old} -> {new}")
