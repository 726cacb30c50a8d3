"""The attempts at one server: what was changed from one to the next, how each ended, how far it got, what was short."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from msgspec import Struct

from tui.diagnosis.allocation import failed_allocation
from tui.diagnosis.progress import Stage
from tui.keeper.states import State
from tui.keeper.tail import read_tail
from tui.launch.cause import describe_cause
from tui.launch.finding import read_finding
from tui.launch.progress import ProgressReader
from tui.launch.records import LaunchRecord, Recorded, RecordError, list_launches, read_launch
from tui.paths import Places
from tui.sglang.edit import given_flags
from tui.sglang.words import nearest_inventory
from tui.units import GIB, MIB

# Chosen anew at each launch; a change of it is nobody's attempt at anything.
_NOT_TOLD = frozenset({"port", "host", "model-path"})
_TAIL_BYTES = 4 * MIB
# SGLang's own arithmetic: the pool gets what is free after the load, less the part of what was free before that
# `--mem-fraction-static` leaves out (0.5.6.post2 to 0.5.23). It prints GiB as "GB".
_NO_POOL = re.compile(rb"Not enough memory\. Please try to increase|Loaded weights leave no GPU memory")
_BEFORE = re.compile(rb"Load weight begin\. avail mem=([\d.]+) GB")
_AFTER = re.compile(rb"Load weight end\..{0,400}?avail mem=([\d.]+) GB")
_FRACTION = re.compile(rb"\bmem_fraction_static(?:'?: |=)([\d.e-]+)")


class Attempt(Struct, frozen=True):
    """One launch among those of its name.

    Attributes:
        changed: flags that differ from the launch before, as `--flag value`; `without --flag` for one that went.
        stage: how far it got; None where no log tells.
        short_bytes: how much memory was missing, where the log tells.
        cause: why it isn't running.
    """

    name: str
    launch: str
    state: State
    created_at: datetime
    ended_at: datetime | None
    attempt: int
    preset: str | None
    sglang_version: str | None
    changed: tuple[str, ...]
    stage: Stage | None
    was_ready: bool
    short_bytes: int | None
    cause: str | None


def read_history(places: Places, name: str) -> tuple[Attempt, ...]:
    """All launches of a name that can be read, oldest first."""
    attempts: list[Attempt] = []
    before: LaunchRecord | None = None
    for launch in list_launches(places, name):
        with suppress(RecordError):  # told by `broken_records`
            recorded = read_launch(places.instances / name / launch)
            attempts.append(_attempt(recorded, before))
            before = recorded.launch
    return tuple(attempts)


def broken_records(places: Places, name: str) -> tuple[str, ...]:
    """What is the matter with each launch of a name that can't be read."""
    found: list[str] = []
    for launch in list_launches(places, name):
        try:
            read_launch(places.instances / name / launch)
        except RecordError as error:
            found.append(str(error))
    return tuple(found)


def _attempt(recorded: Recorded, before: LaunchRecord | None) -> Attempt:
    launch, state, ended = recorded.launch, recorded.current_state(), recorded.exit
    reader = ProgressReader(recorded.files.log)
    try:
        tracker = reader.catch_up()
    finally:
        reader.close()
    was_ready = recorded.state.ready_at is not None or (ended is not None and ended.was_ready)
    stage = tracker.progress.stage if recorded.files.log.exists() else None
    return Attempt(
        name=launch.name,
        launch=launch.launch,
        state=state,
        created_at=launch.created_at,
        ended_at=None if ended is None else ended.at,
        attempt=launch.attempt,
        preset=launch.preset,
        sglang_version=launch.sglang_version,
        changed=() if before is None else changed_flags(before, launch),
        stage=stage,
        was_ready=was_ready,
        short_bytes=_missing(recorded) if state is State.FAILED else None,
        cause=describe_cause(recorded, state, tracker),
    )


def _missing(recorded: Recorded) -> int | None:
    """By the diagnosis that was kept, else by the figures that the log's end has."""
    finding = read_finding(recorded)
    if finding is not None and finding.short_gib is not None:
        return round(finding.short_gib * GIB)
    return missing_bytes(recorded.files.log)


def changed_flags(before: LaunchRecord, after: LaunchRecord) -> tuple[str, ...]:
    """What a person would type to turn the one command into the other."""
    old, new = _flags(before), _flags(after)
    changed = [" ".join((f"--{name}", *new[name])) for name in new if old.get(name) != new[name]]
    dropped = [f"without --{name}" for name in old if name not in new]
    model = [] if before.model == after.model else [f"model {after.model}"]
    release = [] if before.sglang_version == after.sglang_version else [f"SGLang {after.sglang_version}"]
    return (*model, *release, *changed, *dropped)


def missing_bytes(log: Path) -> int | None:
    """By how much memory was short, from the figures of a log's end; None where it has none."""
    text = read_tail(log, _TAIL_BYTES)
    failed = failed_allocation(text.decode(errors="replace"))
    if failed is not None:
        asked, free = failed
        return max(0, asked - free)
    return _pool_shortage(text) if _NO_POOL.search(text) else None


def _pool_shortage(text: bytes) -> int | None:
    """What the pool was below nothing. None where it was something, which a further reserve then took."""
    matches = [pattern.search(text) for pattern in (_BEFORE, _AFTER, _FRACTION)]
    if not all(matches):
        return None
    before, after, fraction = (float(match[1]) for match in matches if match is not None)
    rest = after - before * (1 - fraction)
    return round(-rest * GIB) if rest < 0 else None


def _flags(launch: LaunchRecord) -> dict[str, tuple[str, ...]]:
    given = given_flags(launch.argv, nearest_inventory(launch.sglang_version))
    return {flag.option.removeprefix("--"): flag.words for flag in given if flag.name not in _NOT_TOLD}
