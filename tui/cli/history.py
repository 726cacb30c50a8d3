"""`sgltui history`."""

from __future__ import annotations

import argparse
from typing import Any

from tui.cli.context import open_context, print_json, print_table
from tui.cli.say import say
from tui.errors import ExitCode, UsageError
from tui.launch.history import Attempt, broken_records, read_history
from tui.launch.records import list_names
from tui.toml_decode import did_you_mean
from tui.units import format_gib, to_gib

_HEADER = ("LAUNCH", "OUTCOME", "HOW FAR", "SHORT", "CHANGED", "CAUSE")


def history(options: argparse.Namespace) -> ExitCode:
    """List the attempts at one server, oldest first; status 1 when there are some, and none can be read."""
    places = open_context(options).places
    attempts, broken = read_history(places, options.name), broken_records(places, options.name)
    for message in broken:
        say(message)
    if not attempts and not broken:
        names = list_names(places)
        raise UsageError(f"no server was ever named {options.name!r}", did_you_mean(options.name, names, "names"))
    if options.json:
        print_json([as_contract(attempt) for attempt in attempts])
    elif attempts:
        print_table(_HEADER, map(_row, attempts))
    return ExitCode.DONE if attempts else ExitCode.FAILED


def as_contract(attempt: Attempt) -> dict[str, Any]:
    """The fields of the `history` contract."""
    return {
        "name": attempt.name,
        "launch": attempt.launch,
        "state": str(attempt.state),
        "created_at": attempt.created_at.isoformat(),
        "ended_at": None if attempt.ended_at is None else attempt.ended_at.isoformat(),
        "attempt": attempt.attempt,
        "preset": attempt.preset,
        "sglang": attempt.sglang_version,
        "changed": list(attempt.changed),
        "stage": None if attempt.stage is None else str(attempt.stage),
        "was_ready": attempt.was_ready,
        "short_gib": None if attempt.short_bytes is None else to_gib(attempt.short_bytes),
        "cause": attempt.cause,
    }


def _row(attempt: Attempt) -> tuple[str, ...]:
    return (
        attempt.launch,
        str(attempt.state),
        "ready" if attempt.was_ready else str(attempt.stage or "-"),
        "-" if attempt.short_bytes is None else f"{format_gib(attempt.short_bytes)} GiB",
        ", ".join(attempt.changed) or "-",
        attempt.cause or "",
    )
