"""`sgltui stop`."""

from __future__ import annotations

import argparse
import sys
import threading
from collections.abc import Sequence

import msgspec

from tui.cli.context import open_context, print_json
from tui.cli.say import say
from tui.errors import ExitCode, SgltuiError
from tui.keeper.stop import StopRequest
from tui.launch.records import StopRecord
from tui.launch.stop import stop_launch
from tui.observe import Observer
from tui.paths import Places
from tui.units import format_duration

_LOOK_STEP_S = 1.0


def stop(options: argparse.Namespace) -> ExitCode:
    """Stop servers, all at the same time, and tell what came back.

    Status 5 when a process survived or memory didn't come back; the error's own when one couldn't be stopped at all.
    """
    context = open_context(options)
    settings = context.settings
    request = StopRequest(
        grace_s=settings.grace_s if options.grace is None else options.grace,
        release_wait_s=settings.release_wait_s,
        kill=options.kill,
    )
    stops = [_Stop(context.places, name, request) for name in dict.fromkeys(options.names)]
    _wait(stops, context.observer)
    reports = {one.name: one.report for one in stops if one.report is not None}
    if options.json:
        print_json({"results": [{"name": name, **msgspec.to_builtins(report)} for name, report in reports.items()]})
    else:
        for name, report in reports.items():
            print(describe(name, report))
    errors = [one.error for one in stops if one.error is not None]
    for error in errors:
        say(str(error))
    if errors:
        return max(error.exit_code for error in errors)
    clean = all(not report.survivors and report.released is not False for report in reports.values())
    return ExitCode.DONE if clean else ExitCode.NOT_CLEAN


class _Stop(threading.Thread):
    """One of several. A daemon, so that ctrl-c returns at once; a keeper goes on with what it was asked."""

    def __init__(self, places: Places, name: str, request: StopRequest) -> None:
        super().__init__(name=name, daemon=True)
        self.report: StopRecord | None = None
        self.error: SgltuiError | None = None
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


def _wait(stops: Sequence[_Stop], observer: Observer) -> None:
    """Until all are over; on a terminal, tell what each is waiting for."""
    for one in stops:
        one.join(_LOOK_STEP_S)
        while one.is_alive():
            if sys.stderr.isatty():
                _tell(observer, [other.name for other in stops if other.is_alive()])
            one.join(_LOOK_STEP_S)
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr)


def _tell(observer: Observer, names: Sequence[str]) -> None:
    words = [
        f"{one.name}: {one.phase} {format_duration(one.phase_s)}"
        for one in observer.observe().instances
        if one.name in names and one.phase is not None
    ]
    print(f"\r\x1b[K{', '.join(words)[:100]}", end="", file=sys.stderr, flush=True)


def describe(name: str, report: StopRecord) -> str:
    """What became of it, in a line: `qwen: 4 processes ended in 3.1 s; 71.8 GiB of GPU memory came back`."""
    count = len(report.stopped)
    words = [f"{name}: {count} process{'' if count == 1 else 'es'} ended in {report.seconds:g} s"]
    if report.killed:
        words.append(f"{len(report.killed)} had to be killed")
    words.append(_memory(report))
    if report.survivors:
        words.append(f"STILL RUNNING: pid {', '.join(map(str, report.survivors))}")
    if not report.port_free:
        words.append("its port is still listened on")
    if report.shm_left:
        words.append(f"left in shared memory: {', '.join(report.shm_left)}")
    return "; ".join(filter(None, words))


def _memory(report: StopRecord) -> str:
    before, after = report.memory_before_gib, report.memory_after_gib
    if report.released is None:
        return "whether its GPU memory came back can't be told here"
    if before is None or after is None:
        return ""  # it had no GPU
    if report.released:
        return f"{before:.1f} GiB of GPU memory came back" if before else ""
    return f"{after:.1f} of {before:.1f} GiB of GPU memory did NOT come back: see `sgltui gpus`"
