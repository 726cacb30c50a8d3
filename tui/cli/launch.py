"""`sgltui launch`."""

from __future__ import annotations

import argparse
import sys
import time

from tui.cli.context import Context, open_context
from tui.cli.say import say
from tui.cli.words import describe_state
from tui.errors import ExitCode, SgltuiError, UsageError
from tui.keeper.states import State
from tui.launch.access import url_of
from tui.launch.finding import read_finding
from tui.launch.records import find_launch
from tui.launch.spec import LaunchSpec, spec_from_model, spec_from_preset
from tui.launch.start import Launcher
from tui.observe import Instance
from tui.presets import find_preset, group_presets
from tui.units import format_duration

_LOOK_STEP_S = 0.25
_FINDING_LIMIT_S = 5.0  # it is there within one, unless the machine is busy
_UNDECIDED = frozenset({State.PENDING, State.STARTING, State.LOADING})
_NEW_LINE, _SAME_LINE = "\n", "\r\x1b[K"


def launch(options: argparse.Namespace) -> ExitCode:
    """Launch a server; with `--wait`, wait until it is ready or has failed."""
    context = open_context(options)
    if options.group is not None:
        return launch_group(context, options)
    spec = _spec(context, options)
    address = Launcher(context.places, context.settings, context.reader, say).launch(spec, force=options.force)
    print(address, flush=True)
    return wait_until_ready(context, address, options.timeout) if options.wait else ExitCode.DONE


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


def launch_group(context: Context, options: argparse.Namespace) -> ExitCode:
    """Launch the presets of a group in order, each when the one before is ready; end at the first that isn't.

    SGLang sizes its pool from what is free when it starts, so the order of servers that share a GPU matters.
    """
    if any(given is not None for given in (options.preset, options.model, options.name, options.on, options.port)):
        raise UsageError("--group goes without a preset, --model, --name, --on and --port", "its presets say all that")
    presets = group_presets(context.places, options.group)
    launcher = Launcher(context.places, context.settings, context.reader, say)
    for count, preset in enumerate(presets):
        spec = spec_from_preset(preset).changed(words=options.passed_on)
        address = launcher.launch(spec, force=options.force)
        print(address, flush=True)
        status = wait_until_ready(context, address, options.timeout)
        if status is not ExitCode.DONE:
            left = ", ".join(other.name for other in presets[count + 1 :])
            say(f"{f'not launched: {left}; ' if left else ''}`sgltui stop --group {options.group}` stops the others")
            return status
    return ExitCode.DONE


def wait_until_ready(context: Context, address: str, timeout_s: float | None) -> ExitCode:
    """Tell each stage on stderr until the launch is ready (0) or isn't going to be (1)."""
    observer = context.observer
    deadline = None if timeout_s is None else time.monotonic() + timeout_s
    told = _Told()
    while True:
        instance = _find(observer.observe().instances, address)
        told.tell(instance)
        if (
            instance.state not in _UNDECIDED
            or _is_unattended(instance)
            or (deadline is not None and time.monotonic() > deadline)
        ):
            told.end()
            _await_finding(context, instance, address)
            return _decide(context, _find(observer.observe().instances, address), address, timeout_s)
        time.sleep(_LOOK_STEP_S)


def _decide(context: Context, instance: Instance, address: str, timeout_s: float | None) -> ExitCode:
    if instance.state is State.READY:
        say(f"{address} is ready at {url_of(find_launch(context.places, address).launch)}")
        return ExitCode.DONE
    if _is_unattended(instance):
        say(
            f"the keeper of {address} died, so nobody will see it become ready; it goes on: see `sgltui logs {address}`"
        )
    elif instance.state in _UNDECIDED:
        say(f"{address} isn't ready after {timeout_s:g} s; it goes on: see `sgltui ps`")
    else:
        cause = instance.cause or "no cause is on record"
        say(f"{address} {instance.state}: {cause}; `sgltui explain {address}` says why")
    return ExitCode.FAILED


def _await_finding(context: Context, instance: Instance, address: str) -> None:
    """What a failure was is written a moment after it; where nobody writes it, the log's own words must do."""
    deadline = time.monotonic() + _FINDING_LIMIT_S
    while instance.state is State.FAILED and time.monotonic() < deadline:
        recorded = find_launch(context.places, address)
        if read_finding(recorded) is not None or (recorded.exit is not None and recorded.exit.cause is not None):
            return
        time.sleep(_LOOK_STEP_S)


def _is_unattended(instance: Instance) -> bool:
    return instance.state in _UNDECIDED and instance.state is not State.PENDING and not instance.attended


class _Told:
    """What has been said of a start: a line a stage, and on a terminal the position inside it, in place."""

    def __init__(self) -> None:
        self._stage = ""
        self._words = ""

    def tell(self, instance: Instance) -> None:
        """Say what is new."""
        words = describe_state(instance)
        stage = words.rstrip("0123456789/ ")
        if stage != self._stage:
            self._print(f"{_NEW_LINE if self._stage and sys.stderr.isatty() else ''}{self._line(instance, words)}")
        elif words != self._words and sys.stderr.isatty():
            self._print(f"{_SAME_LINE}{self._line(instance, words)}")
        self._stage, self._words = stage, words

    def end(self) -> None:
        """Finish the line."""
        if sys.stderr.isatty():
            self._print(_NEW_LINE)

    @staticmethod
    def _line(instance: Instance, words: str) -> str:
        return f"{format_duration(instance.uptime_s):>7}  {words}"

    @staticmethod
    def _print(text: str) -> None:
        print(text, end="" if sys.stderr.isatty() else "\n", file=sys.stderr, flush=True)


def _find(instances: tuple[Instance, ...], address: str) -> Instance:
    for instance in instances:
        if f"{instance.name}/{instance.launch}" == address:
            return instance
    raise SgltuiError(
        f"{address} isn't there any more", "somebody launched the same name again, or removed its records"
    )
