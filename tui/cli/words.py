"""How the command line says things."""

from __future__ import annotations

from tui.keeper.states import State
from tui.observe import Instance


def describe_state(instance: Instance) -> str:
    """State and stage in a few words: `loading: weight load 12/29`."""
    progress = instance.progress
    if progress is None or instance.state not in {State.STARTING, State.LOADING}:
        return str(instance.state)
    position = f" {progress.done}/{progress.total}" if progress.total else ""
    return f"{instance.state}: {progress.stage}{position}"
