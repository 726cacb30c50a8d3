"""Findings that no line says, but the figures do: short pools, few requests, caches that are off, memory of others."""

from __future__ import annotations

from collections.abc import Iterator

from tui.diagnosis.detective import Detective
from tui.diagnosis.diagnosis import Ending
from tui.diagnosis.findings import Finding
from tui.sglang.log_events import DecodeBatch, PoolSummary

FOREIGN_SHARE = 0.15
"""Of a card; its context, NCCL and the driver take less."""

_UNEVEN_SHARE = 0.1
_FEW_REQUESTS = 16
_USELESS_ACCEPT = 1.1  # tokens a step: a draft that is never right gives 1


def derive(detective: Detective, ending: Ending) -> tuple[Finding, ...]:
    """What follows from figures and arguments, less what a line said already."""
    said = {finding.id for finding in detective.findings}
    return tuple(finding for finding in _all(detective, ending) if finding.id not in said)


def _all(detective: Detective, ending: Ending) -> Iterator[Finding]:
    summary = detective.figures.summary
    if summary is not None:
        yield from _of_summary(detective, summary)
    if detective.arguments.get("disable_radix_cache") is True:
        yield Finding("radix-cache-off", "the radix cache is off: prefixes are computed anew for each request")
    if detective.launch.false_ready_line is not None:
        words = "it said that it is ready although it had failed: another server answered on its port"
        yield Finding("false-ready", words, detective.launch.false_ready_line)
    yield from _of_memory(detective, ending)
    batch = detective.last_batch
    if isinstance(batch, DecodeBatch) and batch.accept_length is not None and batch.accept_length < _USELESS_ACCEPT:
        words = f"drafts are hardly ever accepted ({batch.accept_length} tokens a step): speculation gives nothing"
        yield Finding("drafts-refused", words)


def _of_summary(detective: Detective, summary: PoolSummary) -> Iterator[Finding]:
    tokens, context, requests = summary.max_total_num_tokens, summary.context_len, summary.max_running_requests
    if context is not None and tokens < context:
        words = f"one request can hold at most {tokens} tokens, less than the context of {context}"
        yield Finding("context-over-pool", words)
    asked = detective.arguments.get("max_running_requests")
    if requests is None:
        return
    if isinstance(asked, int) and asked > requests:
        words = f"{asked} requests were asked for, and only {requests} run at once"
        yield Finding("requests-reduced", words)
    elif detective.is_hybrid and requests <= _FEW_REQUESTS and asked is None:
        words = f"only {requests} requests run at once: a hybrid model is bounded by its state slots"
        yield Finding("requests-capped-by-states", words)


def _of_memory(detective: Detective, ending: Ending) -> Iterator[Finding]:
    free = detective.figures.before_by_rank
    if not free:
        return
    least, most = min(free), max(free)
    if most - least > _UNEVEN_SHARE * most:
        words = f"the GPUs had between {least:.2f} and {most:.2f} GiB free before the weights; the smallest decides"
        yield Finding("unbalanced-gpus", words)
    card = ending.card_gib
    if card is not None and card - least > FOREIGN_SHARE * card:
        words = f"only {least:.2f} of {card:.2f} GiB were free before the weights: other processes hold the rest"
        yield Finding("foreign-memory", words)
