"""`sgltui launch`."""

from __future__ import annotations

import argparse
import sys
import time

from tui.cli.context import Context, open_context
from tui.cli.words import describe_state
from tui.errors import ExitCode, UsageError
from tui.keeper.states import State
from tui.launch.spec import LaunchSpec, spec_from_model, spec_from_preset
from tui.launch.start import Launcher
from tui.observe import Instance
from tui.presets import find_preset
from tui.units import format_duration

_LOOK_STEP_S = 0.25


def launch(options: argparse.Namespace) -> ExitCode:
    """Launch a server; with `--wait`, wait until it is ready or has failed."""
    context = open_context(options)
    spec = _spec(context, options)
    address = Launcher(context.places, context.settings, context.reader).launch(spec)
    print(address, flush=True)
    return _wait(context, address, options.timeout) if options.wait else ExitCode.DONE


def _spec(context: Context, options: argparse.Namespace) -> LaunchSpec:
    if (options.preset is None) == (options.model is None):
        raise UsageError(
            "give either a preset or --model",
            "`sgltui preset list` shows the presets; `sgltui launch --model ORG/NAME` goes without one",
        )
    if options.preset is not None:
        spec = spec_from_preset(find_preset(context.places, options.preset))
    else:
        spec = spec_from_model(options.model)
    return spec.changed(name=options.name, gpus=options.on, port=options.port, words=options.passed_on)


def _wait(context: Context, address: str, timeout_s: float | None) -> ExitCode:
    """Tell each stage on stderr until the launch is ready (0) or isn't going to be (1)."""
    observer = context.observer
    deadline = None if timeout_s is None else time.monotonic() + timeout_s
    told = ""
    while True:
        instance = _find(observer.observe().instances, address)
        told = _tell(instance, told)
        if instance.state is State.READY:
            return ExitCode.DONE
        if instance.state not in {State.PENDING, State.STARTING, State.LOADING}:
            print(f"{address} {instance.state}: {instance.cause or 'see its log'}", file=sys.stderr)
            print(f"see `sgltui logs {address}`", file=sys.stderr)
            return ExitCode.FAILED
        if deadline is not None and time.monotonic() > deadline:
            print(f"{address} isn't ready after {timeout_s:g} s; it goes on: see `sgltui ps`", file=sys.stderr)
            return ExitCode.FAILED
        time.sleep(_LOOK_STEP_S)


def _find(instances: tuple[Instance, ...], address: str) -> Instance:
    for instance in instances:
        if f"{instance.name}/{instance.launch}" == address:
            return instance
    raise UsageError(f"{address} isn't there any more", "somebody launched the same name again, or removed its records")


def _tell(instance: Instance, told: str) -> str:
    words = describe_state(instance)
    if words != told:
        print(f"{format_duration(instance.uptime_s):>7}  {words}", file=sys.stderr, flush=True)
    return words
