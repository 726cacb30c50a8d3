"""Giving an unattended server a new keeper."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from tui.errors import RefusedError, SgltuiError
from tui.keeper.records import is_locked
from tui.launch.keeping import make_order, start_keeper
from tui.launch.ownership import check_ours
from tui.launch.ports import promise_port
from tui.launch.process_words import read_process
from tui.launch.recall import recall
from tui.launch.records import Recorded, find_launch, read_launch
from tui.paths import Places


class Adoption(StrEnum):
    """What became of a wish to adopt."""

    ADOPTED = "adopted"  # a new keeper attends it
    SETTLED = "settled"  # nothing of it runs any more, and its end is on record now
    RESTARTED = "restarted"  # it had failed, and its restart is in a keeper's hands again
    ATTENDED = "attended"  # its keeper lives


def needs_keeper(recorded: Recorded) -> bool:
    """Its keeper is dead, and there is something left to watch, to end, or to write down."""
    if not recorded.is_local or recorded.is_attended:
        return False
    if recorded.exit is None:
        # With nobody on record its launcher may still be about to hand it over.
        return recorded.state.keeper is not None or not recorded.is_running_here
    is_settled = recorded.exit.stop is not None or recorded.exit.unstarted
    return bool(recorded.living_members()) or not is_settled or recorded.awaits_restart


def adopt_launch(places: Places, address: str) -> Adoption:
    """Start a new keeper for the launch at `NAME[/LAUNCH]`, if its own is dead.

    A server that went while nobody watched gets its end recorded, and what it left behind is ended. Of several who
    adopt at once, one wins, by the launch's lock; the others find it attended.

    Raises:
        SgltuiError: it isn't ours, there is nothing to adopt, or no keeper could be started.
    """
    recorded = find_launch(places, address)
    check_ours(recorded, "adopt")
    if recorded.is_attended:
        return _attended(recorded)
    recorded = read_launch(recorded.files.directory)  # its keeper may have written the end since, and gone
    if not needs_keeper(recorded):
        raise RefusedError(f"{recorded.address} isn't running: it is {recorded.current_state()}", "see `sgltui ps`")
    promise = promise_port(recorded.launch.port)
    try:
        order = _order(recorded)
        why = start_keeper("adopt", recorded.files, order, promise)
    finally:
        if promise is not None:
            promise.close()
    newest = read_launch(recorded.files.directory)
    if why is not None:
        return _explain(newest, why)
    if recorded.awaits_restart or _is_unbegun(recorded):
        return _restarted(recorded, order["lacks"])
    server = newest.state.server
    return Adoption.ADOPTED if server is not None and server.is_alive() else Adoption.SETTLED


def _attended(recorded: Recorded) -> Adoption:
    keeper = recorded.state.keeper
    if keeper is not None and keeper.is_suspended():
        raise RefusedError(
            f"{recorded.address} has a keeper that is suspended (pid {keeper.pid})",
            f"let it go on with `kill -CONT {keeper.pid}`, or end it with `kill -KILL {keeper.pid}` and adopt again",
        )
    return Adoption.ATTENDED


def _explain(newest: Recorded, why: str) -> Adoption:
    """No keeper came of it: somebody else was faster, or there is something wrong."""
    if newest.is_attended or newest.exit is not None:
        return Adoption.ATTENDED
    if is_locked(newest.files.lock):
        raise SgltuiError(f"another process handles {newest.address} just now", "see `sgltui ps`, then try again")
    raise SgltuiError(f"no keeper could be started for {newest.address}: {why}", f"see {newest.files.keeper_log}")


def _is_unbegun(recorded: Recorded) -> bool:
    """A restart whose keeper died before it started anything."""
    return recorded.exit is None and recorded.state.server is None and recorded.launch.attempt > 1


def _restarted(recorded: Recorded, lacks: str | None) -> Adoption:
    if lacks is None:
        return Adoption.RESTARTED
    raise RefusedError(f"{recorded.address} isn't launched again: {lacks}", "launch it by hand")


def _order(recorded: Recorded) -> dict[str, Any]:
    """What the first keeper was told, read from the server itself: its records hold no secrets.

    Without a server to ask, it is put together anew where it is needed: for a restart.
    """
    server, record = recorded.state.server, recorded.launch
    argv, environment = read_process(server) if server is not None else ((), {})
    if environment or record.restart is None:
        return make_order(argv or record.argv, environment, record)
    try:
        command, environment = recall(record)
    except SgltuiError as error:
        return make_order(record.argv, {}, record, lacks=error.what)
    return make_order(command, environment, record)
