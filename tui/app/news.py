"""What happened to the servers between two looks that somebody wants to be told, each thing once."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from tui.app.notices import Kind, Notice
from tui.keeper.states import State
from tui.observe import Instance, Snapshot

_TOLD = frozenset({State.READY, State.FAILED, State.LOST, State.STOPPED})


class News(Struct, frozen=True):
    """A launch has come to a state."""

    name: str
    launch: str
    state: State


class Watch:
    """Compares each look with all before; what was so at the first one is no news."""

    def __init__(self) -> None:
        self._told: set[News] | None = None

    def look(self, snapshot: Snapshot) -> list[News]:
        """What is new."""
        now = [News(one.name, one.launch, one.state) for one in snapshot.instances if _is_worth_telling(one)]
        if self._told is None:
            self._told = set(now)
            return []
        fresh = [news for news in now if news not in self._told]
        launches = {(one.name, one.launch) for one in snapshot.instances}
        self._told = {news for news in self._told if (news.name, news.launch) in launches} | set(now)
        return fresh


def notice_of(news: News, snapshot: Snapshot, *, finding_key: str) -> Notice | None:
    """Such news in words, as it stands now; None where something else has become of it.

    `finding_key` shows why it failed; empty where there is none.
    """
    one = find(news, snapshot.instances)
    if one is None or one.state is not news.state:
        return None
    hint = f"{finding_key} shows why" if finding_key else ""
    match one.state:
        case State.READY:
            where = f" on port {one.port}" if one.port is not None else ""
            return Notice(one.name, Kind.DONE, f"{one.name} is ready{where}")
        case State.STOPPED:
            return Notice(
                one.name, Kind.PROBLEM, f"{one.name} is stopped, but {one.cause}", "`sgltui ps` shows who holds on"
            )
        case State.LOST:
            return Notice(one.name, Kind.PROBLEM, f"{one.name} is lost: {one.cause or 'nobody saw how it ended'}", hint)
        case _:
            return Notice(one.name, Kind.PROBLEM, f"{one.name} FAILED: {one.cause or 'its log may say why'}", hint)


def find(news: News, instances: Iterable[Instance]) -> Instance | None:
    """Whom it is about, as it is now."""
    return next((one for one in instances if (one.name, one.launch) == (news.name, news.launch)), None)


def summary(snapshot: Snapshot) -> str:
    """How many servers are how, for a title: `1 FAILED, 2 ready`; empty where there are none."""
    order = (State.FAILED, State.LOST, State.STARTING, State.LOADING, State.STOPPING, State.READY)
    states = [one.state for one in snapshot.instances if one.local]
    counts = [(states.count(state), state) for state in order]
    loud = (State.FAILED, State.LOST)
    return ", ".join(f"{count} {str(state).upper() if state in loud else state}" for count, state in counts if count)


def _is_worth_telling(one: Instance) -> bool:
    """Only of this machine; of a stop only what it left behind."""
    return one.local and one.state in _TOLD and (one.state is not State.STOPPED or one.cause is not None)
