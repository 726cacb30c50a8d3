"""`sgltui ps`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from typing import Any

from msgspec import structs

from tui.cli.context import Context, open_context, print_json, print_table
from tui.cli.say import say
from tui.cli.words import describe_state
from tui.errors import ExitCode, SgltuiError, UsageError
from tui.gpu import GpuReading
from tui.keeper.states import ALIVE
from tui.metrics.limits import LIMITING, Limit
from tui.metrics.live import LiveMetrics
from tui.observe import Instance, Observer, Snapshot
from tui.units import format_duration, format_gib, to_gib

_HEADER = ("NAME", "STATE", "GPU", "PORT", "PID", "GIB", "UP", "RUN/QUEUE", "TOK/S", "KV", "LAST WORD")
_NAME_LIMIT = 24
# For all servers together. One that answers needs some 10 ms, on a busy machine more; of one that hangs this is known
# after 2 s, and said.
_LIVE_WAIT_S = 3.0


def ps(options: argparse.Namespace) -> ExitCode:
    """List the newest launch of every server."""
    if options.watch and options.prometheus:
        raise UsageError("--watch tells changes, and metrics have none", "call `sgltui ps --prometheus` now and then")
    context = open_context(options)
    observer = Observer(context.places, context.reader, live_wait_s=_LIVE_WAIT_S)
    if options.watch:
        from tui.cli.ps_watch import watch  # noqa: PLC0415 - a plain `ps` pays nothing for it

        return watch(observer, as_json=options.json)
    snapshot = observer.observe()
    if options.prometheus:
        _expose(context, snapshot)
    else:
        _print(snapshot, limits_of(snapshot, observer), as_json=options.json)
    return ExitCode.DONE


def limits_of(snapshot: Snapshot, observer: Observer) -> dict[str, Limit]:
    """What limits each server that tells what it does, by its name."""
    found = {one.name: observer.limit(f"{one.name}/{one.launch}") for one in snapshot.instances if one.live is not None}
    return {name: limit for name, limit in found.items() if limit is not None}


def _print(snapshot: Snapshot, limits: Mapping[str, Limit], *, as_json: bool) -> None:
    seen = [(one, limits.get(one.name)) for one in snapshot.instances]
    if as_json:
        print_json([as_contract(instance, limit) for instance, limit in seen])
    elif seen:
        print_table(_HEADER, (_row(instance, limit, snapshot.gpus) for instance, limit in seen))
    else:
        print("No servers yet: `sgltui preset list`, then `sgltui launch PRESET`.", file=sys.stderr)
    for record in snapshot.broken:
        say(f"{record.name}: {record.message}")


def _expose(context: Context, snapshot: Snapshot) -> None:
    from tui.cli.exporter import expose  # noqa: PLC0415 - takes longer than all of a plain `ps`
    from tui.launch.budgets import Budgets  # noqa: PLC0415 - likewise

    budgets, planner = {}, Budgets(context.places, context.settings)
    for one in snapshot.instances:
        if one.state in ALIVE and one.local and one.gpus:
            own = {member.pid for member in one.members}
            try:
                budgets[one.name] = planner.plan_launch(f"{one.name}/{one.launch}", snapshot.gpus, own)
            except SgltuiError as error:
                say(f"{one.name} has no budget: {error}")
    sys.stdout.buffer.write(expose(snapshot, budgets))
    for record in snapshot.broken:
        say(f"{record.name}: {record.message}")


def as_contract(instance: Instance, limit: Limit | None = None) -> dict[str, Any]:
    """The fields of the `ps` contract."""
    return {
        "name": instance.name,
        "launch": instance.launch,
        "state": str(instance.state),
        "stage": str(instance.progress.stage) if instance.progress else None,
        "attended": instance.attended,
        "pid": instance.pid,
        "gpus": list(instance.gpus),
        "host": instance.host,
        "port": instance.port,
        "uptime_s": None if instance.uptime_s is None else round(instance.uptime_s, 1),
        "memory_gib": None if instance.memory_bytes is None else to_gib(instance.memory_bytes),
        "memory_by_difference": instance.memory_by_difference,
        "preset": instance.preset,
        "cause": instance.cause,
        **_live_as_contract(instance.live),
        "limit": None if limit is None else structs.asdict(limit),
    }


def _live_as_contract(live: LiveMetrics | None) -> dict[str, Any]:
    """What it does now; null where nobody can tell."""
    told = {} if live is None else structs.asdict(live)
    return {
        "requests": {"running": told.get("running"), "queued": told.get("queued"), "max": told.get("max_running")},
        "tokens_per_s": _rounded(told.get("tokens_per_s"), 1),
        "kv_usage": _rounded(told.get("kv_usage"), 4),
        "kv_tokens": told.get("kv_tokens"),
        "slot_usage": _rounded(told.get("slot_usage"), 4),
        "accept_length": _rounded(told.get("accept_length"), 2),
        "cache_hit_rate": _rounded(told.get("cache_hit_rate"), 4),
        "retractions": told.get("retractions"),
        "time_to_first_token_s": _rounded(told.get("time_to_first_token_s"), 3),
        "live_source": live.source if live is not None else None,
        "live_trouble": told.get("trouble"),
    }


def _rounded(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)


def _row(instance: Instance, limit: Limit | None, gpus: GpuReading) -> tuple[str, ...]:
    indices = {gpu.uuid: str(gpu.index) for gpu in gpus.gpus}
    return (
        _shorten(instance.name),
        describe_state(instance),
        ",".join(indices.get(uuid, "?") for uuid in instance.gpus) or "-",
        str(instance.port or "-"),
        str(instance.pid or "-"),
        f"{'~' if instance.memory_by_difference else ''}{format_gib(instance.memory_bytes)}",
        format_duration(instance.uptime_s),
        *_live_cells(instance.live),
        "; ".join(notes_of(instance, limit)),
    )


def notes_of(instance: Instance, limit: Limit | None) -> list[str]:
    """What is to be said of it besides its state and figures."""
    notes = [] if instance.attended or not instance.members else ["its keeper died; `sgltui adopt` gives it a new one"]
    if not instance.local:
        notes.append("on another machine")
    if instance.phase is not None:
        notes.append(f"{instance.phase} {format_duration(instance.phase_s)}")
    if instance.cause is not None:
        notes.append(instance.cause)
    if instance.live is not None and instance.live.trouble is not None:
        notes.append(instance.live.trouble)
    if limit is not None and limit.bound in LIMITING:
        notes.append(f"limited by {limit.bound}")
    return notes


def _live_cells(live: LiveMetrics | None) -> tuple[str, str, str]:
    if live is None:
        return "-", "-", "-"
    requests = "-" if live.running is None else f"{live.running}/{'?' if live.queued is None else live.queued}"
    speed = "-" if live.tokens_per_s is None else f"{live.tokens_per_s:.0f}"
    return requests, speed, "-" if live.kv_usage is None else f"{live.kv_usage:.0%}"


def _shorten(name: str) -> str:
    """A long name must not push everything else off the screen; the whole is in `--json`."""
    if not sys.stdout.isatty() or len(name) <= _NAME_LIMIT:
        return name
    return f"{name[: _NAME_LIMIT - 1]}…"
