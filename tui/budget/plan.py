"""`plan`: from a model, flags, GPUs and a release to the memory budget."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from tui.budget import words
from tui.budget.caches import kv_cache, state_cache
from tui.budget.loading import Loaded, draft_layers, load, measured_start, start_items
from tui.budget.pools import Pools, Shapes, size_pools, stage_shapes
from tui.budget.rank import RankParts, rank_budget
from tui.budget.refusal import CannotTell, RefusedLaunch
from tui.budget.settings import Settings, resolve_settings
from tui.budget.types import BudgetItem, Card, MemoryBudget, PlanRequest, RankBudget, Stage, Verdict
from tui.model.sharding import check_sharding
from tui.sglang.parse import Trouble
from tui.sglang.versions import describe_doubts
from tui.units import GIB, MIB

# Less than this is tight: free as expected, and free where every estimate turns out large (the allocator wastes some).
_COMFORTABLE_BYTES, _MARGIN_BYTES = GIB // 2, GIB // 4


def plan(request: PlanRequest) -> MemoryBudget:
    """The budget, without changes: see `changes.find_changes` for those."""
    warnings = (*describe_doubts(request.release), *words.warn_of_flags(request))
    try:
        _refuse_unreadable(request)
        settings = resolve_settings(request)
        budget = _plan(request, settings)
    except RefusedLaunch as refusal:
        budget = _blank(request, Verdict.EXCEEDS, refusal.reason, Stage.ARGS, refusal.error)
    except CannotTell as doubt:
        budget = _blank(request, Verdict.UNKNOWN, str(doubt))
    return replace(budget, warnings=(*warnings, *budget.warnings))


def _refuse_unreadable(request: PlanRequest) -> None:
    """A word that the parser of the release itself refuses. Between recorded releases an unknown flag may exist."""
    for trouble in request.flags.troubles:
        if trouble.kind is not Trouble.UNKNOWN or request.knows_all_flags:
            raise RefusedLaunch(trouble.text, f"error: {trouble.text}")


def _blank(
    request: PlanRequest, verdict: Verdict, reason: str, stage: Stage | None = None, error: str | None = None
) -> MemoryBudget:
    return MemoryBudget(request.model.name, request.release.text, request.cards, verdict, stage, reason, error)


class _Start(Struct, frozen=True):
    """Before the weights: items of each rank, and what is free on the fullest."""

    items: tuple[tuple[BudgetItem, ...], ...]
    free_gib: float
    low_gib: float


class _Case(Struct, frozen=True):
    """Everything that is known before the pools are sized; shapes and loads are a pipeline stage's each."""

    request: PlanRequest
    settings: Settings
    shapes: tuple[Shapes, ...]
    loads: tuple[Loaded, ...]
    start: _Start


def _plan(request: PlanRequest, settings: Settings) -> MemoryBudget:
    drafts = draft_layers(request, settings.speculation) if settings.speculation else 0
    shapes = tuple(stage_shapes(request, settings, layers, drafts) for layers in settings.stages)
    known = _describe(request, settings, shapes[0])
    parallel = settings.parallel
    trouble = check_sharding(request.model, parallel.tensor, parallel.attention_tensor, parallel.expert)
    if trouble is not None:
        return replace(known, verdict=Verdict.EXCEEDS, stage_of_failure=Stage.WEIGHTS, reason=trouble)
    start = _start(request, settings)
    if start is None:
        return replace(known, reason="can't tell: neither the card's memory nor what is free on it is known")
    known = replace(known, available=round(start.free_gib * GIB))
    loads = tuple(load(request, settings, stage) for stage in range(len(shapes)))
    loaded = tuple(item for item in loads if item is not None)
    if len(loaded) < len(loads):
        return replace(known, reason=f"can't tell: {_missing_weights(request)}")
    return _size(_Case(request, settings, shapes, loaded, start), known)


def _missing_weights(request: PlanRequest) -> str:
    if request.model.weights is None and request.measured.weights_gib is None:
        return request.model.weights_trouble or "the size of the weights isn't known"
    return "the draft model wasn't read; give --draft-weights in GiB, or a path on this machine"


def _describe(request: PlanRequest, settings: Settings, shapes: Shapes) -> MemoryBudget:
    """What is known before anything is loaded."""
    empty = Pools.nothing()
    return replace(
        _blank(request, Verdict.UNKNOWN, ""),
        fraction=settings.fraction,
        kv=kv_cache(shapes, settings, empty),
        state=state_cache(request, settings, shapes, empty),
        chunked_prefill_size=settings.chunk,
        cuda_graph_max_bs=settings.graphs.largest_batch,
        context_length=settings.context_length,
        max_running_requests=None,
        notes=words.notes(request, settings),
    )


def _start(request: PlanRequest, settings: Settings) -> _Start | None:
    """What each card has before the weights; None when nothing is known of it."""
    measured_gib = request.measured.available_gib
    if measured_gib is not None:
        items = tuple(tuple(measured_start(card, round(measured_gib * GIB))) for card in request.cards)
        return _Start(items, measured_gib, measured_gib)
    if any(card.total_mib is None for card in request.cards) or not request.cards:
        return None
    items = tuple(tuple(start_items(card, settings.parallel.world)) for card in request.cards)
    free = min(_total(card) - sum(item.size for item in own) for card, own in zip(request.cards, items, strict=True))
    low = min(_total(card) - sum(item.high for item in own) for card, own in zip(request.cards, items, strict=True))
    return _Start(items, free / GIB, low / GIB)


def _total(card: Card) -> int:
    return (card.total_mib or 0) * MIB


def _size(case: _Case, known: MemoryBudget) -> MemoryBudget:
    pools = _size_stages(case, case.start.free_gib)
    worst = min(range(len(pools)), key=lambda stage: pools[stage].tokens.tokens)
    pool, shapes = pools[worst], case.shapes[worst]
    heaviest = max(case.loads, key=lambda item: item.weights.size)
    known = replace(
        known,
        rest=round(pool.rest_gib * GIB),
        weights=heaviest.weights.size,
        load_overhead=heaviest.overhead.size,
        draft_weights=heaviest.draft.size if heaviest.draft else None,
        state=state_cache(case.request, case.settings, shapes, pool),
        kv=kv_cache(shapes, case.settings, pool),
        max_running_requests=pool.requests if pool.failure is None else None,
        ranks=tuple(_rank(case, pool, index) for index in range(len(case.request.cards))),
    )
    flips = any(item.failure is not None for item in _size_stages(case, case.start.low_gib))
    return _judge(case.settings, pool, known, flips=flips)


def _size_stages(case: _Case, before_gib: float) -> list[Pools]:
    """The pools of each stage, from what is free on the fullest rank after loading."""
    request, settings = case.request, case.settings
    taken_gib = max(item.taken_gib(with_draft=request.rules.draft_first) for item in case.loads)
    return [size_pools(request, settings, shape, before_gib, before_gib - taken_gib) for shape in case.shapes]


def _rank(case: _Case, pool: Pools, index: int) -> RankBudget:
    request, settings = case.request, case.settings
    stage = index // settings.parallel.tensor % len(case.shapes)
    shapes = case.shapes[stage]
    parts = RankParts(
        card=request.cards[index],
        start=case.start.items[index],
        loaded=case.loads[stage],
        shapes=shapes,
        pools=pool,
        state=state_cache(request, settings, shapes, pool),
        kv=kv_cache(shapes, settings, pool),
        before_gib=case.start.free_gib,
    )
    return rank_budget(request, settings, parts)


def _judge(settings: Settings, pool: Pools, budget: MemoryBudget, *, flips: bool) -> MemoryBudget:
    """The verdict, from the pools and the timelines."""
    points = [point for rank in budget.ranks for point in rank.timeline]
    broken = next((point for point in points if point.high < 0), None)
    if pool.failure is not None and (broken is None or broken.fails_as is not Stage.WEIGHTS):
        return replace(
            budget,
            verdict=Verdict.EXCEEDS,
            stage_of_failure=Stage.POOL,
            reason=words.explain_pools(settings, pool, budget),
            expected_error=pool.failure.error,
            notes=(*budget.notes, *words.explain_fraction(settings, pool, budget)),
        )
    if broken is not None:
        return replace(
            budget,
            verdict=Verdict.EXCEEDS,
            stage_of_failure=broken.fails_as,
            reason=words.explain_shortage(broken, budget),
            expected_error="torch.OutOfMemoryError: CUDA out of memory.",
        )
    worst = min(points, key=lambda point: point.free)
    tight = flips or worst.free < _COMFORTABLE_BYTES or any(point.low < _MARGIN_BYTES for point in points)
    return replace(
        budget,
        verdict=Verdict.TIGHT if tight else Verdict.FITS,
        reason=words.explain_fit(budget, worst, tight=tight),
        notes=(*budget.notes, *words.warn_of_short_cache(budget)),
    )
