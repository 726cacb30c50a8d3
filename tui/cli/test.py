"""`sgltui test`: a smoke request, or a small load."""

from __future__ import annotations

import argparse
import sys

from msgspec import structs

from tui.cli.context import Context, open_context, print_json
from tui.cli.say import say
from tui.cli.test_words import describe_load, load_as_json
from tui.errors import ExitCode, SgltuiError, UsageError
from tui.gpu import GpuReader
from tui.launch.records import Recorded, find_launch
from tui.metrics import load
from tui.metrics.limits import find_limit
from tui.metrics.live import LiveMetrics
from tui.metrics.poll import ServerPoll
from tui.metrics.ready import find_ready
from tui.metrics.relief import find_relief
from tui.metrics.smoke import Smoke, keep, smoke
from tui.metrics.target import Target

_CONCURRENCY = 8


def test(options: argparse.Namespace) -> ExitCode:
    """Send one request to a ready server, or so many."""
    context = open_context(options)
    if options.requests is None and options.concurrency is not None:
        raise UsageError("--concurrency goes with --requests", f"`sgltui test {options.name} --requests 32`")
    recorded = find_launch(context.places, options.name)
    target = find_ready(recorded, remote_ok=options.remote_ok)
    if options.requests is None:
        return _smoke(recorded, target, as_json=options.json)
    plan = load.Plan(options.requests, min(options.concurrency or _CONCURRENCY, options.requests))
    return _load(context, recorded, target, plan, as_json=options.json)


def _smoke(recorded: Recorded, target: Target, *, as_json: bool) -> ExitCode:
    result = smoke(target.endpoint)
    try:
        keep(recorded.files, result)
    except OSError as error:
        say(f"{recorded.files.smoke} can't be written: {error.strerror}")
    if as_json:
        print_json(
            {
                "schema": result.schema,
                "name": recorded.launch.name,
                "launch": recorded.launch.launch,
                **structs.asdict(result),
            }
        )
    elif result.ok:
        print(f"{recorded.launch.name}: {_describe(result)}")
    else:
        name = recorded.launch.name
        say(f"{name} is ready but didn't answer: {result.error}; see `sgltui logs {name} --problems`")
    return ExitCode.DONE if result.ok else ExitCode.FAILED


def _describe(result: Smoke) -> str:
    speed = "" if result.tokens_per_s is None else f", then {result.tokens_per_s:.1f} tokens/s"
    tokens = f"{result.completion_tokens} tokens for a prompt of {result.prompt_tokens}"
    return f"first token after {result.time_to_first_token_s:.3f} s{speed} ({tokens})"


def _load(context: Context, recorded: Recorded, target: Target, plan: load.Plan, *, as_json: bool) -> ExitCode:
    poll = ServerPoll(target)
    gpus = frozenset(gpu.uuid for gpu in recorded.launch.gpus)

    def look() -> tuple[LiveMetrics, int | None]:
        return poll.ask(recorded.living_members()), _used(context.reader, gpus)

    if not as_json:
        print(f"{recorded.launch.name}: {plan.requests} requests, {plan.concurrency} at a time …", file=sys.stderr)
    outcome = load.run(target.endpoint, plan, look, seed=recorded.launch.mark[-8:])
    limit = find_limit(outcome.at_full)
    try:
        changes = find_relief(context.places, recorded, context.reader.read(), limit.bound)
    except SgltuiError as error:
        changes = ()
        say(f"no change can be planned: {error}")
    if as_json:
        print_json(
            {"schema": 1, "name": recorded.launch.name, "launch": recorded.launch.launch, **load_as_json(outcome)}
            | {"limit": structs.asdict(limit) | {"changes": [structs.asdict(change) for change in changes]}}
        )
    else:
        print("\n".join(describe_load(outcome, limit, changes, ascii_only=_is_ascii())))
    return ExitCode.FAILED if outcome.errors else ExitCode.DONE


def _used(reader: GpuReader, gpus: frozenset[str]) -> int | None:
    used = [gpu.memory.used_bytes for gpu in reader.read().gpus if gpu.uuid in gpus and gpu.memory is not None]
    return sum(used) if used else None


def _is_ascii() -> bool:
    return "utf" not in (sys.stdout.encoding or "").lower()
