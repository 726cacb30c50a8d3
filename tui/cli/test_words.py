"""How a small load went, in words, as curves, and as JSON."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tui.budget.types import FlagChange
from tui.metrics.limits import RELIEVED, Limit
from tui.metrics.load import Outcome, Sample, percentile
from tui.metrics.plot import sparkline
from tui.text import printable
from tui.units import GIB

_SHARES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "max": 1.0}
_LABEL, _SCALE = 10, 20

Read = Callable[[Sample], float | None]
_CURVES: tuple[tuple[str, Read, str], ...] = (
    ("running", lambda sample: sample.live.running, "{:.0f}"),
    ("queued", lambda sample: sample.live.queued, "{:.0f}"),
    ("tokens/s", lambda sample: sample.live.tokens_per_s, "{:.0f}"),
    ("KV cache", lambda sample: sample.live.kv_usage, "{:.0%}"),
    ("slots", lambda sample: sample.live.slot_usage, "{:.0%}"),
    ("GPU GiB", lambda sample: None if sample.memory_bytes is None else sample.memory_bytes / GIB, "{:.1f}"),
)


def load_as_json(outcome: Outcome) -> dict[str, Any]:
    """Its figures, and each look at the server."""
    return {
        "requests": outcome.plan.requests,
        "concurrency": outcome.plan.concurrency,
        "seconds": round(outcome.seconds, 3),
        "done": len(outcome.done),
        "errors": dict(outcome.errors),
        "requests_per_s": _rounded(len(outcome.done) / outcome.seconds if outcome.seconds else None),
        "tokens_per_s": round(outcome.tokens_per_s, 2),
        "prompt_tokens": sum(one.prompt_tokens for one in outcome.done),
        "completion_tokens": sum(one.completion_tokens for one in outcome.done),
        "latency_s": _percentiles([one.seconds for one in outcome.done]),
        "time_to_first_token_s": _percentiles([one.first_token_s for one in outcome.done]),
        "samples": [_sample(sample) for sample in outcome.samples],
    }


def describe_load(outcome: Outcome, limit: Limit, changes: Sequence[FlagChange], *, ascii_only: bool) -> Iterator[str]:
    """Lines for a terminal."""
    speed = f"{outcome.seconds:.1f} s, {outcome.tokens_per_s:.1f} tokens/s"
    yield f"{len(outcome.done)} of {outcome.plan.requests} requests in {speed}"
    for name, values in (
        ("latency", [one.seconds for one in outcome.done]),
        ("first token", [one.first_token_s for one in outcome.done]),
    ):
        told = _percentiles(values)
        yield f"  {name:<11} " + "   ".join(f"{share} {_seconds(value)}" for share, value in told.items())
    for error, times in outcome.errors:
        yield f"  failed {times} x: {printable(error)}"
    yield from _curves(outcome.samples, ascii_only)
    yield f"limited by: {limit.bound}" + (f" ({limit.why})" if limit.why else "")
    if limit.bound in RELIEVED and not changes:
        yield "  no single flag would help on these GPUs, as far as can be planned"
    for change in changes:
        flags = [f"--{name} {value}" for name, value in change.set.items()]
        words = " ".join([*flags, *(f"without --{name}" for name in change.unset)])
        yield f"  {words}: {change.effect}; costs {change.costs}"


def _curves(samples: Sequence[Sample], ascii_only: bool) -> Iterator[str]:
    width = max(10, min(shutil.get_terminal_size().columns, 120) - _LABEL - _SCALE - 4)
    for label, read, form in _CURVES:
        values = [read(sample) for sample in samples]
        known = [value for value in values if value is not None]
        if known:
            top = 1.0 if form.endswith("%}") else max(known)
            curve = sparkline(values, width, top, ascii_only=ascii_only)
            yield f"  {label:<{_LABEL}}|{curve}| {form.format(min(known))} to {form.format(max(known))}"


def _percentiles(values: Sequence[float]) -> dict[str, float | None]:
    return {name: _rounded(percentile(values, share)) for name, share in _SHARES.items()}


def _sample(sample: Sample) -> dict[str, Any]:
    live = sample.live
    return {
        "at_s": round(sample.at_s, 2),
        "running": live.running,
        "queued": live.queued,
        "tokens_per_s": _rounded(live.tokens_per_s),
        "kv_usage": _rounded(live.kv_usage),
        "slot_usage": _rounded(live.slot_usage),
        "accept_length": _rounded(live.accept_length),
        "memory_gib": None if sample.memory_bytes is None else round(sample.memory_bytes / GIB, 3),
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f} s"
