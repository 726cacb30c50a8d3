"""`sgltui stop`."""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict

from tui.cli.context import open_context, print_json
from tui.errors import ExitCode, SgltuiError
from tui.keeper.stop import StopRequest
from tui.launch.stop import StopReport, stop_launch
from tui.paths import Places


def stop(options: argparse.Namespace) -> ExitCode:
    """Stop servers, all at the same time, and tell what came back.

    Status 5 when a process survived or memory didn't come back; 1 when one couldn't be stopped at all.
    """
    context = open_context(options)
    settings = context.settings
    request = StopRequest(
        grace_s=settings.grace_s if options.grace is None else options.grace,
        release_wait_s=settings.release_wait_s,
        kill=options.kill,
    )
    names = list(dict.fromkeys(options.names))
    with ThreadPoolExecutor(max_workers=len(names)) as pool:
        outcomes = list(pool.map(lambda name: _stop(context.places, name, request), names))
    reports = [outcome for outcome in outcomes if isinstance(outcome, StopReport)]
    errors = [outcome for outcome in outcomes if isinstance(outcome, SgltuiError)]
    if options.json:
        print_json({"results": [asdict(report) for report in reports]})
    else:
        print("\n".join(describe(report) for report in reports))
    for error in errors:
        print(f"sgltui: {error}", file=sys.stderr)
    if errors:
        return max(error.exit_code for error in errors)
    return ExitCode.DONE if all(report.is_clean for report in reports) else ExitCode.NOT_CLEAN


def _stop(places: Places, name: str, request: StopRequest) -> StopReport | SgltuiError:
    """One of several: its error must not hide what became of the others."""
    try:
        return stop_launch(places, name, request)
    except SgltuiError as error:
        return error


def describe(report: StopReport) -> str:
    """What became of it, in a line: `qwen: stopped 4 processes in 3.1 s; GPU memory 73.2 -> 1.4 GiB`."""
    words = [f"{report.name}: stopped {len(report.stopped)} processes in {report.seconds:g} s", _memory(report)]
    if report.survivors:
        words.append(f"STILL RUNNING: pid {', '.join(map(str, report.survivors))}")
    if not report.port_free:
        words.append("its port is still listened on")
    if report.shm_left:
        words.append(f"left in shared memory: {', '.join(report.shm_left)}")
    return "; ".join(filter(None, words))


def _memory(report: StopReport) -> str:
    if report.memory_before_gib is None or report.memory_after_gib is None:
        return "" if report.released else "GPU memory can't be read here"
    figures = f"GPU memory {report.memory_before_gib:.1f} -> {report.memory_after_gib:.1f} GiB"
    verdicts = {True: "", False: ", NOT ALL OF IT CAME BACK", None: ", whose it was can't be told"}
    return figures + verdicts[report.released]
