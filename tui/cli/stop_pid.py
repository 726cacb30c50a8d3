"""`sgltui stop --pid`: end a left-over SGLang server that no record knows."""

from __future__ import annotations

import argparse

import msgspec

from tui.cli.confirm import confirm
from tui.cli.context import Context, print_json
from tui.cli.say import say
from tui.cli.stop_words import describe, is_clean
from tui.errors import ExitCode, RefusedError, UsageError
from tui.gpu import GpuReading
from tui.keeper.stop import StopRequest
from tui.launch.leftover import Leftover, find_leftover, list_processes, stop_leftover
from tui.units import format_duration, format_gib


def stop_pid(context: Context, options: argparse.Namespace, request: StopRequest) -> ExitCode:
    """Show the tree, ask, end it, and tell what came back; status 5 as for a stop by name."""
    if options.names:
        raise UsageError("give either names or --pid", "stop them one after the other")
    reading = context.reader.read()
    leftover = find_leftover(context.places, options.pid, reading)
    _show(leftover, reading)
    which = "this process" if len(leftover.members) == 1 else f"these {len(leftover.members)} processes"
    confirm(f"End {which}?", yes=options.yes, about="these may be ended", otherwise="nothing was ended")
    # What was shown may have changed while the person thought about it.
    if find_leftover(context.places, options.pid, reading).root != leftover.root:
        raise RefusedError(f"process {options.pid} belongs to another tree now", "look again")
    report = stop_leftover(context.places, leftover, request)
    if options.json:
        print_json({"results": [{"name": None, "pid": leftover.root.pid, **msgspec.to_builtins(report)}]})
    else:
        print(describe(f"pid {leftover.root.pid}", report))
    return ExitCode.DONE if is_clean(report) else ExitCode.NOT_CLEAN


def _show(leftover: Leftover, reading: GpuReading) -> None:
    for process in list_processes(leftover, reading):
        held = "" if process.held_bytes is None else f", {format_gib(process.held_bytes)} GiB of GPU memory"
        say(f"pid {process.pid}, up {format_duration(process.age_s)}{held}: {process.command[:100]}")
