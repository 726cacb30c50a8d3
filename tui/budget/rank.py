"""One GPU's budget: its items, and its free memory by stage.

The order is the release's own: up to 0.5.13 the draft model comes after the target's pools and graphs, from 0.5.14 on
before the pools (SGLang 0.5.11 managers/scheduler.py:692, 0.5.23 managers/scheduler.py:1040-1215).
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from tui.budget import reserve
from tui.budget.loading import Loaded
from tui.budget.pools import Pools, Shapes
from tui.budget.settings import Settings
from tui.budget.timeline import Timeline
from tui.budget.types import Basis, BudgetItem, Card, KvCache, PlanRequest, RankBudget, Stage, StateCache
from tui.units import GIB, MIB


class RankParts(Struct, frozen=True):
    """What a rank's budget is put together from."""

    card: Card
    start: tuple[BudgetItem, ...]
    loaded: Loaded
    shapes: Shapes
    pools: Pools
    state: StateCache | None
    kv: KvCache
    before_gib: float


def rank_budget(request: PlanRequest, settings: Settings, parts: RankParts) -> RankBudget:
    """The budget of one rank."""
    total = (parts.card.total_mib or 0) * MIB or round((request.measured.available_gib or 0) * GIB)
    timeline = Timeline(total, total, total)
    timeline.take("start", parts.start, Stage.WEIGHTS)
    below, above = timeline.free - timeline.low, timeline.high - timeline.free
    loaded = parts.loaded
    timeline.take("weights", [loaded.weights, loaded.overhead], Stage.WEIGHTS)
    draft_first = request.rules.draft_first
    if draft_first and loaded.draft is not None:
        timeline.take("draft weights", [loaded.draft], Stage.DRAFT)
    if parts.pools.failure is None:
        timeline.take("pools", _pool_items(request, settings, parts), Stage.POOL)
        left_out = 1 - settings.fraction
        timeline.settle(int(below * left_out), int(above * left_out))
        _finish(request, settings, parts, timeline)
    elif timeline.high >= 0:
        timeline.take("pools", _wanted_items(settings, parts), Stage.POOL)
    return RankBudget(parts.card.index, total, tuple(timeline.items), tuple(timeline.points))


def _wanted_items(settings: Settings, parts: RankParts) -> list[BudgetItem]:
    """What the pools would have had to hold: it comes to less than nothing."""
    kept = round(parts.before_gib * (1 - settings.fraction) * GIB)
    words = f"{1 - settings.fraction:.1%} of {parts.before_gib:.2f} GiB, for graphs and activations"
    items = [_exact("kept out of the pools", kept, words)]
    state = parts.state
    if state is None or settings.speculation is None or not state.reserve:
        return items if state is None else [*items, *_state_items(settings, state, 0)]
    tokens = settings.speculation.draft_tokens
    words = f"{state.reserve // (state.slot_bytes * tokens)} requests x {tokens} draft tokens"
    return [*items, _exact("state reserve for drafts", state.reserve, words)]


def _finish(request: PlanRequest, settings: Settings, parts: RankParts, timeline: Timeline) -> None:
    """Everything behind the target's pools."""
    loaded, page = parts.loaded, settings.backend.page_size
    cache = reserve.draft_cache(parts.pools, parts.shapes, page) if loaded.draft is not None else None
    requests = parts.pools.requests
    graphs = [
        reserve.decode_graphs(request, settings, requests),
        reserve.index_scratch(request, settings, requests),
        reserve.prefill_graphs(request, settings),
    ]
    drafts = [reserve.draft_graphs(request, settings, requests)]
    if request.rules.draft_first:
        if cache is not None:
            timeline.take("draft KV cache", [cache], Stage.DRAFT)
        _share_embedding(loaded, timeline)
        timeline.take("workspace", [reserve.workspace(request, settings)], Stage.GRAPH)
        timeline.take("graphs", [*graphs, *drafts], Stage.GRAPH)
    else:
        timeline.take("workspace", [reserve.workspace(request, settings)], Stage.GRAPH)
        timeline.take("graphs", graphs, Stage.GRAPH)
        if loaded.draft is not None:
            timeline.take("draft", [loaded.draft, cache], Stage.DRAFT)
            _share_embedding(loaded, timeline)
            timeline.take("draft graphs", drafts, Stage.GRAPH)
    timeline.take("serving", [reserve.later_kernels(), reserve.activations(request, settings)], Stage.RUNTIME)


def _share_embedding(loaded: Loaded, timeline: Timeline) -> None:
    """The draft gives its own embedding and head back; its item shrinks to what stays."""
    if loaded.draft is None or not loaded.draft_shared:
        return
    timeline.give(loaded.draft_shared)
    at = timeline.items.index(loaded.draft)
    size = loaded.draft.size - loaded.draft_shared
    words = f"{loaded.draft.formula}; {loaded.draft_shared / GIB:.2f} GiB of it go back once it shares the target's"
    timeline.items[at] = replace(loaded.draft, size=size, low=size, high=size, formula=words)


def _pool_items(request: PlanRequest, settings: Settings, parts: RankParts) -> list[BudgetItem]:
    items = [] if parts.state is None else _state_items(settings, parts.state, parts.pools.requests)
    kv, page = parts.kv, settings.backend.page_size
    words = f"{kv.tokens} tokens x {kv.bytes_per_token} bytes ({settings.kv_dtype.name})" + (
        f", and a page of {page}" if page > 1 else ""
    )
    full = sum(part for part in (kv.keys, kv.values, kv.latent) if part is not None)
    items.append(_exact("KV cache", full, words))
    if kv.sliding_tokens is not None:
        side = kv.allocated - full
        items.append(_exact("KV cache, sliding window", side, f"{kv.sliding_tokens} tokens"))
    return [*items, reserve.request_table(request, settings, parts.pools)]


def _state_items(settings: Settings, state: StateCache, requests: int) -> list[BudgetItem]:
    slot = f"{state.slot_bytes / MIB:.1f} MiB"
    items = [
        _exact(
            "state slots",
            state.conv + state.ssm,
            f"{(state.slots or 0) + 1} x {slot}, {state.slots_per_request} a request ({state.strategy})",
        )
    ]
    drafts = state.intermediate_ssm + state.intermediate_conv
    if drafts and settings.speculation is not None:
        tokens = settings.speculation.draft_tokens
        items.append(_exact("state for drafts", drafts, f"{requests + 1} requests x {tokens} draft tokens"))
    return items


def _exact(component: str, size: int, formula: str) -> BudgetItem:
    return BudgetItem(component, size, size, size, Basis.EXACT, formula)
