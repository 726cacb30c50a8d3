"""`sgltui doctor`."""

from __future__ import annotations

import argparse

import msgspec

from tui.cli.context import open_context, print_json
from tui.errors import ExitCode
from tui.launch.doctor import Check, Level, examine
from tui.text import printable

_SIGNS = {Level.OK: "ok     ", Level.WARNING: "warning", Level.PROBLEM: "PROBLEM"}


def doctor(options: argparse.Namespace) -> ExitCode:
    """Show what works and what doesn't; status 1 when something doesn't."""
    context = open_context(options)
    checks = examine(context.places, context.settings, context.reader.read())
    if options.json:
        print_json(msgspec.to_builtins(checks))
    else:
        for check in checks:
            print(printable(_line(check)))
    return ExitCode.FAILED if any(check.level is Level.PROBLEM for check in checks) else ExitCode.DONE


def _line(check: Check) -> str:
    remedy = f"; {check.remedy}" if check.remedy else ""
    return f"{_SIGNS[check.level]}  {check.topic}: {check.what}{remedy}"
