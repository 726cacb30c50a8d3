"""`sgltui stop`."""

from __future__ import annotations

import argparse
import sys
import threading
from collections.abc import Iterable, Sequence

import msgspec

from tui.cli.context import Context, open_context, print_json
from tui.cli.say import say
from tui.cli.stop_pid import stop_pid
from tui.cli.stop_words import describe, is_clean
from tui.errors import ExitCode, SgltuiError, UsageError
from tui.keeper.stop import StopRequest
from tui.launch.guard import group_members
from tui.launch.nodes import is_follower
from tui.launch.records import StopRecord, find_launch
from tui.launch.stop import stop_launch
from tui.observe import Observer
from tui.paths import Places
from tui.settings import Settings
from tui.units import format_duration

_LOOK_STEP_S = 1.0


def stop(options: argparse.Namespace) -> ExitCode:
    """Stop servers, all at the same time, and tell what came back.

    Status 5 when a process survived or memory didn't come back; the error's own when one couldn't be stopped at all.
    """
    context = open_context(options)
    request = read_request(options, context.settings)
    if options.pid is not None:
        return stop_pid(context, options, request)
    stops = []
    for together in _in_turn(context, options):
        stops += (batch := [_Stop(context.places, name, request) for name in together])
        _wait_or_cut_short(batch, context, request)
    reports = {one.name: one.report for one in stops if one.report is not None}
    if options.json:
        print_json({"results": [{"name": name, **msgspec.to_builtins(report)} for name, report in reports.items()]})
    else:
        for name, report in reports.items():
            print(describe(name, report))
    errors = [one.error for one in stops if one.error is not None]
    for error in errors:
        say(str(error))
    _tell_restarts(context.places, reports)
    if errors:
        return max(error.exit_code for error in errors)
    return ExitCode.DONE if all(map(is_clean, reports.values())) else ExitCode.NOT_CLEAN


def _tell_restarts(places: Places, names: Iterable[str]) -> None:
    """What had failed already, and was to be launched again."""
    for name in names:
        ended = find_launch(places, name).exit
        if ended is not None and ended.restart is not None:
            say(f"{name} had failed already; {ended.restart}")


def _in_turn(context: Context, options: argparse.Namespace) -> list[list[str]]:
    """Names that are stopped at the same time; a group one by one, and node 0 of a server before its other nodes."""
    if options.group is not None:
        if options.names:
            raise UsageError("give either names or --group", "stop them one after the other")
        return [[name] for name in group_members(context.places, options.group)]
    if not options.names:
        raise UsageError("nothing to stop", "name servers as `sgltui ps` lists them, or give --group or --pid")
    names = list(dict.fromkeys(options.names))
    followers = [name for name in names if is_follower(context.places, name)]
    return [batch for batch in ([name for name in names if name not in followers], followers) if batch]


def read_request(options: argparse.Namespace, settings: Settings) -> StopRequest:
    """How to stop, as asked, else as set."""
    return StopRequest(
        grace_s=settings.grace_s if options.grace is None else options.grace,
        release_wait_s=settings.release_wait_s,
        kill=options.kill,
    )


class _Stop(threading.Thread):
    """One of several. A daemon, so that ctrl-c returns at once; a keeper goes on with what it was asked."""

    def __init__(self, places: Places, name: str, request: StopRequest) -> None:
        super().__init__(name=name, daemon=True)
        self.report: StopRecord | None = None
        self.error: SgltuiError | None = None
        # Not `is_alive`: until Python 3.13 an interrupted `join` takes a thread for ended that goes on.
        self.over = threading.Event()
        self._places = places
        self._request = request
        self.start()

    def run(self) -> None:
        """Its error must not hide what became of the others."""
        try:
            self.report = stop_launch(self._places, self.name, self._request)
        except SgltuiError as error:
            self.error = error
        except OSError as error:
            self.error = SgltuiError(f"{self.name} can't be stopped: {error}", "see `sgltui ps`")
        finally:
            self.over.set()


def _wait_or_cut_short(stops: Sequence[_Stop], context: Context, request: StopRequest) -> None:
    """Until all are over. Ctrl-c asks whether to kill what is left, and the second one returns at once."""
    try:
        _wait(stops, context.observer)
    except KeyboardInterrupt:
        waiting = [one.name for one in stops if not one.over.is_set()]
        if not sys.stdin.isatty() or not waiting:
            raise
        print(f"\r\x1b[KKill {', '.join(waiting)} now? Running requests are lost. [y/N] ", end="", file=sys.stderr)
        sys.stderr.flush()
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            raise
        hurried = StopRequest(request.grace_s, request.release_wait_s, kill=True)
        _wait([*stops, *(_Stop(context.places, name, hurried) for name in waiting)], context.observer)


def _wait(stops: Sequence[_Stop], observer: Observer) -> None:
    """Until all are over; on a terminal, tell what each is waiting for."""
    for one in stops:
        while not one.over.wait(_LOOK_STEP_S):
            if sys.stderr.isatty():
                _tell(observer, [other.name for other in stops if not other.over.is_set()])
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr)


def _tell(observer: Observer, names: Sequence[str]) -> None:
    words = [
        f"{one.name}: {one.phase} {format_duration(one.phase_s)}"
        for one in observer.observe().instances
        if one.name in names and one.phase is not None
    ]
    print(f"\r\x1b[K{', '.join(words)[:100]}", end="", file=sys.stderr, flush=True)
