"""What is taken before pools are sized: driver, context, communicators, weights, a draft model.

Sources: SGLang 0.5.11 model_executor/model_runner.py (initialize), speculative/eagle_worker_v2.py:130-180, models/
qwen3_5_mtp.py:46-130; 0.5.23 managers/scheduler.py:1040-1215, speculative/eagle_worker_v2.py:243-378. What a context, a
communicator and a loader take is estimated from public logs.
"""

from __future__ import annotations

from msgspec import Struct

from tui.budget.settings import Settings
from tui.budget.speculation import Speculation
from tui.budget.types import Basis, BudgetItem, Card, Measured, PlanRequest
from tui.model.shapes import Shard, WeightGroup
from tui.model.sharding import rank_bytes
from tui.units import GIB, MIB

# The driver keeps some of a card for itself: 0.31 GiB of 24, 0.55 of 80, 0.62 of 96, 0.6 of 140 in public logs.
_DRIVER_BYTES, _DRIVER_SHARE = int(0.3 * GIB), 0.003
# CUDA context with the kernels that are loaded first.
_CONTEXT, _CONTEXT_LOW, _CONTEXT_HIGH = (int(gib * GIB) for gib in (0.7, 0.4, 1.1))
# Communicators by number of ranks (up to): central, low, high.
_HALF_BYTES = 2  # bfloat16 and float16
_COMMUNICATORS = ((1, 0.0, 0.0, 0.0), (2, 0.0, 0.0, 0.4), (4, 0.3, 0.0, 1.0), (1 << 20, 1.1, 0.5, 2.0))
_ALL_LAYERS = range(1 << 30)
# Beyond the parameters: rounding of the allocator, modules loaded with the weights.
_OVERHEAD_ALONE, _OVERHEAD_TOGETHER = (0.1, 0.02, 0.2), (0.15, 0.04, 0.35)
# Where GPU and CPU share their memory, files that were just read still fill some of it when pools are sized.
_UNIFIED = ((12, 1),)
_PAGE_CACHE = (0.4, 0.0, 0.8)


class Loaded(Struct, frozen=True):
    """One rank's load.

    Attributes:
        draft: the draft model with an embedding and a head of its own; None without one.
        draft_shared: bytes of it that are given back once it uses the target's embedding and head.
        draft_layers: KV layers of the draft model.
    """

    weights: BudgetItem
    overhead: BudgetItem
    draft: BudgetItem | None
    draft_shared: int
    draft_layers: int
    measured: Measured

    def taken_gib(self, *, with_draft: bool) -> float:
        """GiB that are gone when it is loaded, as measured where it was: SGLang's own floats, not rounded to bytes."""
        weights_gib = self.measured.weights_gib
        taken = self.overhead.size / GIB + (self.weights.size / GIB if weights_gib is None else weights_gib)
        if not with_draft or self.draft is None:
            return taken
        draft_gib = self.measured.draft_weights_gib
        return taken + (self.draft.size / GIB if draft_gib is None else draft_gib)


def start_items(card: Card, ranks: int) -> list[BudgetItem]:
    """What stands between an empty card and SGLang's first measurement."""
    items = [_driver(card)]
    if card.used_bytes:
        who = ", ".join(card.holders) or "other processes"
        items.append(_exact("other processes", card.used_bytes, Basis.MEASURED, f"held now by {who}"))
    context = "CUDA context and first kernels"
    items.append(BudgetItem(context, _CONTEXT, _CONTEXT_LOW, _CONTEXT_HIGH, Basis.ESTIMATED, "0.4 to 1.1 GiB in logs"))
    size, low, high = next((row[1:] for row in _COMMUNICATORS if ranks <= row[0]), _COMMUNICATORS[-1][1:])
    if high:
        words = f"communicators of {ranks} ranks"
        items.append(BudgetItem("NCCL", _gib(size), _gib(low), _gib(high), Basis.ESTIMATED, words))
    return items


def measured_start(card: Card, available: int) -> list[BudgetItem]:
    """Likewise, when the free memory before the weights was measured: the rest of the card, whatever it is."""
    taken = max(0, (card.total_mib or 0) * MIB - available)
    return [_exact("driver, context, other processes", taken, Basis.MEASURED, "all but what was free before loading")]


def load(request: PlanRequest, settings: Settings, stage: int) -> Loaded | None:
    """What a rank of this pipeline stage loads; None when the weights can't be known."""
    weights = _weights(request, settings, stage)
    if weights is None:
        return None
    overhead = _overhead(request, settings)
    if settings.speculation is None or not settings.speculation.has_draft_model:
        return Loaded(weights, overhead, None, 0, 0, request.measured)
    draft = _draft(request, settings, settings.speculation)
    return None if draft is None else Loaded(weights, overhead, *draft, request.measured)


def _overhead(request: PlanRequest, settings: Settings) -> BudgetItem:
    """What a load takes beyond the parameters; a measured one has it in its figure."""
    size, low, high, words = 0.0, 0.0, 0.0, "part of the measured weights"
    if request.measured.weights_gib is None:
        size, low, high = _OVERHEAD_ALONE if settings.parallel.world == 1 else _OVERHEAD_TOGETHER
        words = "allocator rounding and kernels"
    if request.capability in _UNIFIED:
        size, low, high = (own + cache for own, cache in zip((size, low, high), _PAGE_CACHE, strict=True))
        words += ", and files in the memory that GPU and CPU share"
    basis = Basis.ESTIMATED if high else Basis.MEASURED
    return BudgetItem("load overhead", _gib(size), _gib(low), _gib(high), basis, words)


def draft_layers(request: PlanRequest, speculation: Speculation) -> int:
    """Layers of the draft model that keep keys and values. An unread EAGLE draft has one, as they all do."""
    if request.draft is not None:
        return request.draft.nextn_layers or (1 if request.draft.mtp_layers else request.draft.num_layers)
    model = request.model
    own = max(model.nextn_layers, model.mtp_layers)
    if own:
        return own
    is_itself = speculation.algorithm == "EAGLE" and request.flags.get("speculative-draft-model-path") is None
    return model.num_layers if is_itself else 1


def _weights(request: PlanRequest, settings: Settings, stage: int) -> BudgetItem | None:
    if request.measured.weights_gib is not None:
        return _exact(
            "weights", _gib(request.measured.weights_gib), Basis.MEASURED, "measured: free before less free after"
        )
    weights = request.model.weights
    if weights is None:
        return None
    size = _on_rank(request, settings, weights.target, stage, settings.stages[stage])
    words = "tensors of the checkpoint" if weights.exact else "computed from the architecture"
    parallel = settings.parallel
    if parallel.world > 1:
        words += f", divided among TP {parallel.tensor}" + (
            f" x PP {parallel.pipeline}" if parallel.pipeline > 1 else ""
        )
    return _exact("weights", size, Basis.EXACT if weights.exact else Basis.ESTIMATED, words)


def _on_rank(
    request: PlanRequest, settings: Settings, groups: tuple[WeightGroup, ...], stage: int, layers: range
) -> int:
    parallel = settings.parallel
    return rank_bytes(
        groups,
        request.model,
        tp=parallel.tensor,
        attention_tp=parallel.attention_tensor,
        ep=parallel.expert,
        pp_layers=layers,
        is_first_stage=stage == 0,
        is_last_stage=stage == len(settings.stages) - 1,
        vision_dp=request.flags.has("mm-enable-dp-encoder"),
    )


def _draft(request: PlanRequest, settings: Settings, speculation: Speculation) -> tuple[BudgetItem, int, int] | None:
    """The draft's item, what it gives back, its KV layers."""
    layers = draft_layers(request, speculation)
    shared = _shared_bytes(request, settings)
    if request.measured.draft_weights_gib is not None:
        size = _gib(request.measured.draft_weights_gib)
        item = _exact("draft weights", size, Basis.MEASURED, "measured: free before less free after")
        return item, min(shared, max(size, 0)), layers
    model = request.draft or request.model
    if model.weights is None or (request.draft is None and _has_foreign_draft(request, settings)):
        return None
    if request.draft is None and model.weights.draft:
        body = _on_rank(request, settings, model.weights.draft, len(settings.stages) - 1, _ALL_LAYERS)
        words = "MTP layers with an embedding and a head of their own"
        return _exact("draft weights", body + shared, Basis.EXACT, words), shared, layers
    size = sum(group.size_bytes for group in model.weights.target) // settings.parallel.tensor
    words = "the draft model" if request.draft is not None else "the whole model once more, as its own draft"
    return _exact("draft weights", size, Basis.ESTIMATED, words), min(shared, size), layers


def _has_foreign_draft(request: PlanRequest, settings: Settings) -> bool:
    """A draft path was given, but nobody read what is behind it."""
    path = request.flags.get("speculative-draft-model-path")
    return settings.speculation is not None and path is not None and path != request.model.name


def _shared_bytes(request: PlanRequest, settings: Settings) -> int:
    """Embedding and head that a draft allocates and gives back for the target's; a standalone draft keeps its own."""
    speculation, weights = settings.speculation, request.model.weights
    if weights is None or speculation is None or speculation.algorithm == "STANDALONE":
        return 0
    draft = request.draft
    if draft is not None and speculation.algorithm == "EAGLE3":  # its head is its own (0.5.11 eagle_worker.py:178)
        return draft.vocab_size * draft.hidden_size * _HALF_BYTES // settings.parallel.tensor
    total = sum(group.size_bytes for group in weights.target if group.shard is Shard.VOCABULARY)
    return total // settings.parallel.tensor


def _driver(card: Card) -> BudgetItem:
    if card.reserved_bytes is not None:
        return _exact("reserved by the driver", card.reserved_bytes, Basis.MEASURED, "as the driver says")
    size = _DRIVER_BYTES + int((card.total_mib or 0) * MIB * _DRIVER_SHARE)
    words = "about 0.3 GiB and 0.3 % of the card"
    return BudgetItem("reserved by the driver", size, size // 2, size * 3 // 2, Basis.ESTIMATED, words)


def _exact(component: str, size: int, basis: Basis, formula: str) -> BudgetItem:
    return BudgetItem(component, size, size, size, basis, formula)


def _gib(size: float) -> int:
    return round(size * GIB)
