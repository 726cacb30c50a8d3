"""The budget in sentences: why it fits or not, with the numbers."""

from __future__ import annotations

from tui.budget.pools import Pools
from tui.budget.rules import StateSplit
from tui.budget.settings import Settings
from tui.budget.strategy import EXTRA_BUFFER
from tui.budget.types import MemoryBudget, PlanRequest, Stage, TimelinePoint
from tui.sglang.defaults import SPECULATIVE_REQUESTS
from tui.sglang.parse import Trouble
from tui.units import GIB

_HIGHEST_FRACTION = 0.99
_TWO_DIGITS = 10


def explain_fit(budget: MemoryBudget, worst: TimelinePoint, *, tight: bool) -> str:
    """It starts: how many tokens and requests, and what stays free."""
    capacity = describe_capacity(budget)
    where = f"at the tightest moment ({worst.stage})"
    if not tight:
        return f"{capacity}; {gib(worst.free)} GiB stay free {where}"
    if worst.free < 0:
        return f"{capacity}, but {gib(-worst.free)} GiB may be missing {where}"
    return f"{capacity}; {gib(worst.free)} GiB stay free {where}, less than the estimates are sure of"


def explain_pools(settings: Settings, pool: Pools, budget: MemoryBudget) -> str:
    """The pools can't be made."""
    failure, share, state = pool.failure, pool.share, budget.state
    rest = f"{pool.rest_gib:.2f}"
    if failure is None:
        return ""
    if failure.cause == "requests":
        slots = f"{share.slots} state slots" if share else f"{pool.tokens.tokens} tokens"
        per = f", but one request needs {state.slots_per_request}" if state else ""
        return f"no request could run: the pool of {rest} GiB has {slots}{per}"
    if failure.cause == "tokens":
        return f"the KV cache of {count(pool.tokens.tokens)} tokens is too small to serve a request"
    if failure.cause == "weights" or share is None or state is None:
        return _explain_weights(settings, pool, budget)
    if share.reserve and settings.speculation is not None:
        tokens, slot = settings.speculation.draft_tokens, state.slot_bytes
        requests = share.reserve // (slot * tokens)
        sentence = (
            f"the state reserve for {requests} requests x {tokens} draft tokens takes {gib(share.reserve)} GiB "
            f"({slot / GIB:.4f} GiB each); the pool has {rest} GiB"
        )
        short_gib = share.reserve / GIB - pool.rest_gib
        return f"{sentence}, {short_gib:.2f} GiB short before the first KV token" if short_gib > 0 else sentence
    return (
        f"recurrent state takes {share.slots} slots x {state.slot_bytes / GIB:.4f} GiB; the pool has {rest} GiB, "
        f"{max(0.0, -share.kv_gib):.2f} GiB short before the first KV token"
    )


def _explain_weights(settings: Settings, pool: Pools, budget: MemoryBudget) -> str:
    available, weights = budget.available or 0, budget.weights or 0
    kept = available * (1 - settings.fraction)
    drafts = f" and {gib(budget.draft_weights)} of draft weights" if budget.draft_weights else ""
    return (
        f"{gib(weights)} GiB of weights{drafts} leave no room for the KV cache: of {gib(available)} GiB, "
        f"{gib(int(kept))} are kept free at --mem-fraction-static {settings.fraction:.4g}, "
        f"{max(0.0, -pool.rest_gib):.2f} GiB too much"
    )


def explain_fraction(settings: Settings, pool: Pools, budget: MemoryBudget) -> list[str]:
    """Whether the advice to raise the fraction can help."""
    share, available = pool.share, budget.available
    if available is None or share is None or pool.failure is None or pool.failure.cause != "state":
        return []
    after_gib = pool.rest_gib + available / GIB * (1 - settings.fraction)
    need_gib = after_gib - share.reserve / GIB
    highest = after_gib - available / GIB * (1 - _HIGHEST_FRACTION)
    if need_gib <= 0 or highest < share.reserve / GIB:
        words = f"raising --mem-fraction-static can't help: even at {_HIGHEST_FRACTION} the pool has {highest:.1f} GiB"
        return [f"{words}, and the reserve is {gib(share.reserve)} GiB"]
    least = 1 - need_gib / (available / GIB)
    return [f"the pool holds the reserve from --mem-fraction-static {least:.3f} on, but with less left for the rest"]


def explain_shortage(point: TimelinePoint, budget: MemoryBudget) -> str:
    """Memory runs out at a stage, even if every estimate is at its lowest."""
    short = gib(-point.high)
    if point.fails_as is Stage.WEIGHTS:
        return (
            f"the weights don't fit: {gib(budget.weights or 0)} GiB of {gib(budget.available or 0)} GiB free, "
            f"at least {short} GiB short"
        )
    what = {
        Stage.DRAFT: f"the draft model ({gib(budget.draft_weights or 0)} GiB with its own embedding and head)",
        Stage.GRAPH: f"{point.stage} behind the pools",
        Stage.RUNTIME: "the first full prefill chunk",
        Stage.POOL: "the pools",
    }.get(point.fails_as, point.stage)
    return f"the pools leave too little: {what} needs at least {short} GiB more than is free"


def notes(request: PlanRequest, settings: Settings) -> tuple[str, ...]:
    """What a person should know beside the figures."""
    found = []
    if settings.defaults_requests and settings.requests is not None:
        found.append(
            f"with speculation SGLang allows {SPECULATIVE_REQUESTS} requests unless --max-running-requests is given"
        )
    strategy = settings.strategy
    if strategy is not None and strategy.radix_cache and strategy.name == EXTRA_BUFFER:
        words = f"extra_buffer doesn't double the state: it needs {strategy.slots_per_request} slots a request, not 3"
        found.append(words)
    if request.rules.split is StateSplit.RESERVED_FIRST and strategy is not None and settings.speculation is not None:
        found.append("this release reserves drafts' states for all allowed requests first; 0.5.13 and later don't")
    if request.capability is None and request.flags.get("attention-backend") is None:
        found.append("the card's compute capability isn't known here: a page size of 1 is assumed")
    if request.model.multimodal:
        found.append("images and video need memory while they are encoded, which isn't part of this plan")
    return tuple(found)


def warn_of_short_cache(budget: MemoryBudget) -> list[str]:
    """The longest request that fits is shorter than the context."""
    tokens, context = budget.kv.tokens if budget.kv is not None else None, budget.context_length
    if tokens is None or context is None or tokens >= context:
        return []
    return [f"one request can hold at most {count(tokens)} tokens, less than the context of {count(context)}"]


def warn_of_flags(request: PlanRequest) -> list[str]:
    """Unknown flags that may exist in a release between those whose flags are recorded."""
    if request.knows_all_flags:
        return []
    return [
        f"{trouble.text}; {request.release.text} may know it all the same"
        for trouble in request.flags.troubles
        if trouble.kind is Trouble.UNKNOWN
    ]


def gib(size: int) -> str:
    """`50.96`."""
    return f"{size / GIB:.2f}"


def describe_capacity(budget: MemoryBudget) -> str:
    """`173k tokens, 8 requests at once`."""
    words = [f"{count(budget.kv.tokens)} tokens"] if budget.kv is not None and budget.kv.tokens else []
    requests = budget.max_running_requests
    if requests is not None:
        words.append(f"{requests} {'request' if requests == 1 else 'requests'} at once")
    return ", ".join(words) or "nothing"


def count(number: int) -> str:
    """`960`, `9.6k`, `173k`, `1.2M`: three digits are enough for a sentence."""
    for unit, size in (("M", 10**6), ("k", 10**3)):
        if abs(number) >= size:
            value = number / size
            return f"{value:.0f}{unit}" if abs(value) >= _TWO_DIGITS else f"{value:.1f}{unit}"
    return str(number)


def number_or_word(text: str) -> str | float | bool:
    """A flag's value as JSON has it: `8`, `0.86`, `true`, or the word."""
    if text == "true":
        return True
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
