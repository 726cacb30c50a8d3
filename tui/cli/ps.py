"""`sgltui ps`."""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

from tui.cli.context import open_context, print_json, print_table
from tui.cli.say import say
from tui.cli.words import describe_state
from tui.errors import ExitCode
from tui.gpu import GpuReading
from tui.observe import Instance, Snapshot
from tui.units import format_duration, format_gib, to_gib

_HEADER = ("NAME", "STATE", "GPU", "PORT", "PID", "GIB", "UP", "LAST WORD")
_CLEAR = "\x1b[H\x1b[2J"
_NAME_LIMIT = 24


def ps(options: argparse.Namespace) -> ExitCode:
    """List the newest launch of every server."""
    context = open_context(options)
    observer = context.observer
    while True:
        snapshot = observer.observe()
        if options.watch and sys.stdout.isatty():
            print(_CLEAR, end="")
        _print(snapshot, as_json=options.json)
        if not options.watch:
            return ExitCode.DONE
        sys.stdout.flush()
        time.sleep(1)


def _print(snapshot: Snapshot, *, as_json: bool) -> None:
    if as_json:
        print_json([as_contract(instance) for instance in snapshot.instances])
    elif snapshot.instances:
        print_table(_HEADER, (_row(instance, snapshot.gpus) for instance in snapshot.instances))
    else:
        print("No servers yet: `sgltui preset list`, then `sgltui launch PRESET`.", file=sys.stderr)
    for record in snapshot.broken:
        say(f"{record.name}: {record.message}")


def as_contract(instance: Instance) -> dict[str, Any]:
    """The fields of the `ps` contract. Requests and tokens come with live metrics; unknown until then."""
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
        "requests": {"running": None, "queued": None},
        "tokens_per_s": None,
    }


def _row(instance: Instance, gpus: GpuReading) -> tuple[str, ...]:
    indices = {gpu.uuid: str(gpu.index) for gpu in gpus.gpus}
    notes = [] if instance.attended or not instance.members else ["its keeper died; `sgltui adopt` gives it a new one"]
    if not instance.local:
        notes.append("on another machine")
    if instance.phase is not None:
        notes.append(f"{instance.phase} {format_duration(instance.phase_s)}")
    if instance.cause is not None:
        notes.append(instance.cause)
    return (
        _shorten(instance.name),
        describe_state(instance),
        ",".join(indices.get(uuid, "?") for uuid in instance.gpus) or "-",
        str(instance.port or "-"),
        str(instance.pid or "-"),
        f"{'~' if instance.memory_by_difference else ''}{format_gib(instance.memory_bytes)}",
        format_duration(instance.uptime_s),
        "; ".join(notes),
    )


def _shorten(name: str) -> str:
    """A long name must not push everything else off the screen; the whole is in `--json`."""
    if not sys.stdout.isatty() or len(name) <= _NAME_LIMIT:
        return name
    return f"{name[: _NAME_LIMIT - 1]}…"
