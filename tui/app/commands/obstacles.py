"""Why a command can't be done with what is selected now."""

from __future__ import annotations

from tui.app.command import Situation
from tui.keeper.states import ALIVE, State


def nobody(situation: Situation) -> str | None:
    """Nothing is selected that it could be done with."""
    if situation.selected is not None:
        return None
    if situation.broken is None:
        return "no server is selected"
    return f"the record of {situation.broken} can't be read; it is left alone"


def not_ours_to_end(situation: Situation) -> str | None:
    """Only a living server of this machine can be ended."""
    selected = situation.selected
    if selected is None:
        return nobody(situation)
    if not selected.local:
        return f"{selected.name} runs on {selected.host}; end it there"
    if selected.state not in ALIVE and not selected.members:
        return f"{selected.name} has ended already"
    return None


def not_ours_to_relaunch(situation: Situation) -> str | None:
    """Only a server of this machine that isn't on its way out."""
    selected = situation.selected
    if selected is None:
        return nobody(situation)
    if not selected.local:
        return f"{selected.name} was launched on {selected.host}; relaunch it there"
    if selected.state is State.STOPPING or selected.name in situation.stopping:
        return f"{selected.name} is stopping; relaunch it when it is gone"
    return None


def not_to_be_tested(situation: Situation) -> str | None:
    """Only a ready server of this machine answers."""
    selected = situation.selected
    if selected is None:
        return nobody(situation)
    if not selected.local:
        return f"{selected.name} runs on {selected.host}; test it there"
    return None if selected.state is State.READY else f"{selected.name} isn't ready: it is {selected.state}"
