"""`sgltui ps --watch`: a line for each change. Nothing is drawn again, so that a screen reader or a pipe can follow."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from tui.cli.ps import as_contract, limits_of, notes_of
from tui.cli.say import say
from tui.cli.stdout import wait_while_read
from tui.cli.words import describe_state
from tui.errors import ExitCode
from tui.gpu import GpuReading
from tui.keeper.records import utc_now
from tui.keeper.states import State
from tui.metrics.limits import LIMITING, Limit
from tui.observe import Instance, Observer, Snapshot
from tui.text import printable
from tui.units import format_gib

_PERIOD_S = 1.0
_PARTS = 4  # of a stage that counts: more lines would be told than anybody wants to hear
_NOT_KNOWN: Mapping[str, Limit] = {}


def watch(observer: Observer, *, as_json: bool) -> ExitCode:
    """Tell what there is, then what changes, until ctrl-c or as long as somebody reads.

    Raises:
        BrokenPipeError: nobody reads any more.
    """
    changes = Changes()
    try:
        while True:
            snapshot = observer.observe()
            limits = limits_of(snapshot, observer)
            for line in changes.json_lines(snapshot, limits) if as_json else changes.lines(snapshot, limits):
                print(line)
            wait_while_read(_PERIOD_S)
    except KeyboardInterrupt:  # how it is meant to end
        return ExitCode.INTERRUPTED


class Changes:
    """What of a snapshot wasn't told yet. Figures that move all the time are in a line, and no reason for one."""

    def __init__(self) -> None:
        self._told: dict[str, object] = {}
        self._troubles: tuple[str, ...] = ()
        self._has_looked = False

    def lines(self, snapshot: Snapshot, limits: Mapping[str, Limit] = _NOT_KNOWN) -> Iterator[str]:
        """In words: `17:31:02 qwen36-mtp: ready, GPU 0, port 30000, 71.8 GiB`."""
        now = f"{datetime.now().astimezone():%H:%M:%S}"
        if not self._has_looked and not snapshot.instances:
            yield f"{now} no servers yet"
        for what in self._new_troubles(snapshot):
            yield f"{now} {what}"
        for name, one in self._news(snapshot, limits):
            words = "not listed any more" if one is None else _words(one, limits.get(name), snapshot.gpus)
            yield f"{now} {printable(name)}: {words}"

    def json_lines(self, snapshot: Snapshot, limits: Mapping[str, Limit] = _NOT_KNOWN) -> Iterator[str]:
        """One object a line: the fields of `ps --json` and `at`, or `gone` for a server that isn't there any more."""
        for what in self._new_troubles(snapshot):
            say(what)
        for name, one in self._news(snapshot, limits):
            gone: dict[str, Any] = {"name": name, "gone": True}
            fields = gone if one is None else as_contract(one, limits.get(name))
            yield json.dumps({"at": utc_now(), **fields}, ensure_ascii=False)

    def _news(self, snapshot: Snapshot, limits: Mapping[str, Limit]) -> Iterator[tuple[str, Instance | None]]:
        now = {one.name: one for one in snapshot.instances}
        known = {*now, *(record.name for record in snapshot.broken)}
        for name in [name for name in self._told if name not in known]:
            del self._told[name]
            yield name, None
        for name, one in now.items():
            if (seen := _what_counts(one, limits.get(name))) != self._told.get(name):
                self._told[name] = seen
                yield name, one
        self._has_looked = True

    def _new_troubles(self, snapshot: Snapshot) -> list[str]:
        troubles = tuple(_troubles(snapshot))
        new = [what for what in troubles if what not in self._troubles]
        self._troubles = troubles
        return new


def _what_counts(one: Instance, limit: Limit | None) -> object:
    progress = one.progress
    part = None
    if progress is not None:
        counted = progress.done * _PARTS // progress.total if progress.done is not None and progress.total else None
        part = (progress.stage, counted)
    notes = (one.attended, one.cause, one.phase, one.awaits_restart, one.live.trouble if one.live is not None else None)
    bound = limit.bound if limit is not None and limit.bound in LIMITING else None
    return (one.launch, one.state, part, one.gpus, one.port, notes, bound)


def _troubles(snapshot: Snapshot) -> Iterator[str]:
    problem = snapshot.gpus.problem
    if problem is not None:
        yield f"GPUs: {printable(problem.what)}; {problem.hint}"
    for gpu in snapshot.gpus.gpus:
        if gpu.problem is not None:
            yield f"GPU {gpu.index}: {printable(gpu.problem)}"
    for record in snapshot.broken:
        yield f"{printable(record.name)}: {printable(record.message)}"


def _words(one: Instance, limit: Limit | None, gpus: GpuReading) -> str:
    indices = {gpu.uuid: str(gpu.index) for gpu in gpus.gpus}
    on = ",".join(indices.get(uuid, "?") for uuid in one.gpus)
    parts = [describe_state(one), f"GPU {on}" if on else "", f"port {one.port}" if one.port else ""]
    if one.memory_bytes:
        parts.append(f"{format_gib(one.memory_bytes)} GiB")
    if one.state is State.READY and one.live is not None and one.live.running is not None:
        parts.append(f"{one.live.running} running, {'?' if one.live.queued is None else one.live.queued} queued")
    return ", ".join(printable(part) for part in [*parts, *notes_of(one, limit)] if part)
