"""Forgetting old launches: the last few of a name stay, those that run, and those that a preset names as evidence."""

from __future__ import annotations

import shutil
from contextlib import suppress

from tui.keeper.records import is_locked
from tui.launch.pins import is_pinned
from tui.launch.records import Recorded, RecordError, list_launches, read_launch, read_newest
from tui.paths import Places
from tui.presets import load_presets

_HIDDEN = ".gone-"


def prune(places: Places, name: str, keep: int) -> list[str]:
    """Remove the records and logs of old launches of `name`; called under the lock of `launching`.

    Another machine's are never touched, nor what can't be read: `doctor` shows that.

    Args:
        places: whose records.
        name: the server.
        keep: how many launches stay.

    Returns:
        The addresses that are gone.
    """
    _finish_earlier(places, name)
    old = list_launches(places, name)[:-keep]
    if not old:
        return []
    named = _evidence(places)
    if named is None:
        return []
    newest = read_newest(places, name)
    gone = []
    for launch in old:
        with suppress(RecordError):
            recorded = read_launch(places.instances / name / launch)
            is_newest = newest is not None and newest.address == recorded.address
            is_kept = is_newest or recorded.address in named or is_pinned(recorded)
            if not is_kept and _is_past(recorded):
                _remove(recorded)
                gone.append(recorded.address)
    return gone


def _remove(recorded: Recorded) -> None:
    """Out of sight in one step, so that nobody meets half of it; what can't be deleted then is in nobody's way."""
    directory = recorded.files.directory
    hidden = directory.with_name(f"{_HIDDEN}{directory.name}")
    with suppress(OSError):  # a read-only file system, say: it stays
        directory.rename(hidden)
        shutil.rmtree(hidden, ignore_errors=True)


def _finish_earlier(places: Places, name: str) -> None:
    """What somebody was deleting when he was killed."""
    with suppress(OSError):
        for path in (places.instances / name).iterdir():
            if path.name.startswith(_HIDDEN):
                shutil.rmtree(path, ignore_errors=True)


def _is_past(recorded: Recorded) -> bool:
    """Its end is on record, nothing of it lives, and nobody is still busy with it."""
    if not recorded.is_local or not recorded.is_over:
        return False
    return not recorded.is_attended and not recorded.living_members() and not is_locked(recorded.files.lock)


def _evidence(places: Places) -> set[str] | None:
    """Addresses that presets name; None while there is a preset that can't be read, which may name any."""
    found = load_presets(places)
    if found.problems:
        return None
    named = (one.evidence.launch for one in found.presets if one.evidence is not None)
    return {address for address in named if address is not None}
