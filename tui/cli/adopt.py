"""`sgltui adopt`."""

from __future__ import annotations

import argparse
from contextlib import suppress

from tui.cli.context import open_context
from tui.cli.say import say
from tui.errors import ExitCode, SgltuiError
from tui.launch.adopt import Adoption, adopt_launch, needs_keeper
from tui.launch.records import RecordError, list_names, read_newest
from tui.paths import Places

_WORDS = {
    Adoption.ADOPTED: "has a keeper again",
    Adoption.SETTLED: "runs no more; its end is on record now",
    Adoption.RESTARTED: "has a keeper again, which launches it at the time of its restart",
    Adoption.ATTENDED: "is attended already",
}


def adopt(options: argparse.Namespace) -> ExitCode:
    """Give unattended servers a new keeper: the named ones, else all that need one."""
    places = open_context(options).places
    names = list(dict.fromkeys(options.names)) or unattended(places)
    errors = []
    for name in names:
        try:
            print(f"{name} {_WORDS[adopt_launch(places, name)]}", flush=True)
        except SgltuiError as error:
            errors.append(error)
            say(str(error))
    if not names:
        say("every server is attended")
    return max((error.exit_code for error in errors), default=ExitCode.DONE)


def unattended(places: Places) -> list[str]:
    """Names of servers whose keeper is dead, and of those that went with it."""
    found = []
    for name in list_names(places):
        with suppress(RecordError):  # `ps` and `doctor` show a broken record
            newest = read_newest(places, name)
            if newest is not None and needs_keeper(newest):
                found.append(name)
    return found
