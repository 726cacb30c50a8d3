"""What SGLang sizes when the weights are loaded: recurrent state, KV cache, running requests.

Sources: SGLang 0.5.11 model_executor/model_runner_kv_cache_mixin.py:57-131 and 698, mem_cache/memory_pool.py
(MambaPool); 0.5.23 mem_cache/kv_cache_configurator.py:2986-3409.
"""

from __future__ import annotations

from msgspec import Struct

from tui.budget.kv_cells import CellSize, TokenBytes, grouped_bytes, index_bytes, latent_bytes, layers_on_stage
from tui.budget.pool_failure import PoolFailure, Sized, find_failure
from tui.budget.settings import Settings
from tui.budget.sliding_pool import cap_sliding
from tui.budget.state_pool import StateDemand, StateShare, split_pool
from tui.budget.state_shapes import DTYPE_BYTES, StateBytes, replay_ring_bytes, state_bytes
from tui.budget.token_pool import TokenPool, cap_requests, size_tokens
from tui.budget.types import PlanRequest
from tui.model.shapes import GroupedQuery, KdaState, State
from tui.units import GIB, MIB

_MEMORY_RATIO = 0.9
_REPLAY_RECORDS = 16
_FEATURE_POOL_MIB = 1024  # SGLANG_MM_FEATURE_CACHE_MB's default
_NO_TOKENS = TokenPool(0, None)
_ONE_DRAFT_LAYER = "0.5.18"


class Shapes(Struct, frozen=True):
    """What a stage stores: per token, and per state slot.

    Attributes:
        state: None for models without recurrent state.
        full_layers: of the target, with full attention.
        draft_layers: KV layers of the draft model, or 0.
    """

    cell: CellSize
    state: StateBytes | None
    full_layers: int
    draft_layers: int

    @property
    def draft_token_bytes(self) -> int:
        """Bytes of a token in the draft model's own KV cache, layers shaped as the target's."""
        return self.cell.full.stored * self.draft_layers // self.full_layers if self.full_layers else 0


class Pools(Struct, frozen=True):
    """The outcome on one stage.

    Attributes:
        rest_gib: what all pools share.
        share: how recurrent state divided it, or None.
        requests: `max_running_requests`; 0 where it can't start.
    """

    rest_gib: float
    share: StateShare | None
    tokens: TokenPool
    requests: int
    failure: PoolFailure | None
    is_sized: bool = True

    @classmethod
    def nothing(cls) -> Pools:
        """Before anything was sized."""
        return cls(0.0, None, _NO_TOKENS, 0, None, is_sized=False)


def stage_shapes(request: PlanRequest, settings: Settings, layers: range, draft_layers: int) -> Shapes:
    """What a pipeline stage stores."""
    attention, ranks = request.model.attention, settings.parallel.attention_tensor
    full, sliding = layers_on_stage(attention, layers.start, layers.stop)
    if attention.sliding_layers and not settings.sliding:
        full, sliding = full + sliding, 0
    cell = _full_bytes(request, settings, full, layers)
    side = None
    if attention.sliding is not None and sliding:
        side = grouped_bytes(attention.sliding, sliding, ranks, settings.kv_dtype)
    priced = _priced_draft_layers(request, settings, draft_layers, has_side=side is not None)
    draft = int(cell.priced * priced / full) if full else 0
    extra = _index_bytes(request, full)
    sized = TokenBytes(cell.keys, cell.values, cell.latent, cell.priced + extra)
    return Shapes(
        CellSize(sized, side, settings.sliding_ratio, draft), _state_shape(request, settings), full, draft_layers
    )


def _full_bytes(request: PlanRequest, settings: Settings, count: int, layers: range) -> TokenBytes:
    """A token's bytes in `count` layers of full attention; `layers` are all layers of the stage."""
    attention, rules = request.model.attention.full, request.rules
    if isinstance(attention, GroupedQuery):
        return grouped_bytes(attention, count, settings.parallel.attention_tensor, settings.kv_dtype)
    indexed = sum(layer in layers for layer in attention.index_layers) if rules.shares_index else count
    index = index_bytes(attention, indexed, attention.index_pool if rules.pools_index else 1)
    backends = {
        request.flags.get(f"{kind}-{role}-backend") for kind in ("nsa", "dsa") for role in ("prefill", "decode")
    }
    return latent_bytes(
        attention,
        count,
        index,
        settings.kv_dtype,
        scaled_rows="trtllm" not in backends,
        prices_rows=rules.prices_rows,
    )


def _priced_draft_layers(request: PlanRequest, settings: Settings, layers: int, *, has_side: bool) -> int:
    """Draft layers that sizing charges; up to 0.5.13 they come out of the reserve."""
    speculation, rules = settings.speculation, request.rules
    if speculation is None or not rules.draft_first or not speculation.is_eagle_family:
        return 0
    if has_side and not request.release.includes("0.5.15"):
        return 0
    if speculation.draft_path is not None:
        return _layers_of_given_draft(request, layers)
    return request.model.nextn_layers if rules.prices_pathless_drafts else 0


def _layers_of_given_draft(request: PlanRequest, layers: int) -> int:
    """What a release takes for the draft's layers.

    0.5.14 to 0.5.17 count all text layers of a multimodal model with MTP as draft layers when its path is typed: the
    draft's own count is looked up in another config than it was written to (run with the real ModelConfig of 0.5.14).
    """
    typed = request.flags.get("speculative-draft-model-path") is not None
    draft = request.draft or request.model
    if typed and draft.mtp_layers and draft.multimodal and not request.release.includes(_ONE_DRAFT_LAYER):
        return draft.num_layers
    return layers


def _index_bytes(request: PlanRequest, layers: int) -> int:
    """Qwen4-Exp: compressed keys of its sparse-attention index, charged but not part of the logged sizes."""
    return request.model.index_bytes_per_layer * layers


def _state_shape(request: PlanRequest, settings: Settings) -> StateBytes | None:
    state = request.model.state
    if state is None:
        return None
    conv = DTYPE_BYTES.get(request.environment.get("SGLANG_MAMBA_CONV_DTYPE", ""), 2)
    ssm = DTYPE_BYTES[_ssm_dtype(request)]
    return state_bytes(state, settings.parallel.attention_tensor, _charged_layers(request, settings, state), conv, ssm)


def _ssm_dtype(request: PlanRequest) -> str:
    """The flag, the environment, the config, float32: the first that names a known dtype."""
    candidates = [request.flags.get("mamba-ssm-dtype"), request.environment.get("SGLANG_MAMBA_SSM_DTYPE")]
    if request.rules.config_decides_state_dtype:
        candidates.append(request.model.state_dtype)
    return next((str(name) for name in candidates if name in DTYPE_BYTES), "float32")


def _charged_layers(request: PlanRequest, settings: Settings, state: State) -> int:
    """Linear layers that a stage pays for: all of them before 0.5.17, then those of the fullest stage."""
    if not request.rules.stage_share:
        return len(state.layers)
    return max(sum(layer in stage for layer in state.layers) for stage in settings.stages)


def size_pools(request: PlanRequest, settings: Settings, shapes: Shapes, before_gib: float, after_gib: float) -> Pools:
    """Divide what is free after loading, on the stage that `shapes` belongs to.

    Args:
        request: what is planned.
        settings: resolved.
        shapes: of the stage.
        before_gib: free before the weights, on the fullest rank.
        after_gib: free when pools are sized, on the fullest rank.
    """
    rest_gib = after_gib - before_gib * (1 - settings.fraction) - _multimodal_gib(request)
    share, kv_gib = None, rest_gib
    if shapes.state is not None:
        share = split_pool(rest_gib, _demand(request, settings, shapes.state), request.rules)
        kv_gib = share.kv_gib
    tokens, requests = _NO_TOKENS, 0
    if shapes.cell.bytes > 0:
        tokens = size_tokens(
            int(kv_gib * GIB), shapes.cell, settings.backend.page_size, request.flags.get("max-total-tokens")
        )
        tokens = cap_sliding(request, settings, shapes.cell, tokens, int(kv_gib * GIB))
    if tokens.tokens > 0:
        requests = _cap(request, settings, tokens.tokens, share)
        tokens = _widen(request, settings, tokens, requests)
    sized = Sized(share, kv_gib, tokens, requests, before_gib, after_gib)
    failure = find_failure(request, settings, sized, shapes.state.slot if shapes.state else 0)
    return Pools(rest_gib, share, tokens, requests, failure)


def _multimodal_gib(request: PlanRequest) -> float:
    """What a multimodal model keeps for images, in GiB (0.5.23 kv_cache_configurator.py:200)."""
    if not request.model.multimodal or not request.rules.multimodal_reserve_mib:
        return 0.0
    mib = float(request.environment.get("SGLANG_VLM_CACHE_SIZE_MB", request.rules.multimodal_reserve_mib))
    if request.flags.get("mm-feature-transport") in ("cuda_ipc", "cuda_vmm"):
        mib += float(request.environment.get("SGLANG_MM_FEATURE_CACHE_MB", _FEATURE_POOL_MIB))
    return mib * MIB / GIB


def _demand(request: PlanRequest, settings: Settings, state: StateBytes) -> StateDemand:
    flags, strategy, speculation = request.flags, settings.strategy, settings.speculation
    replays = flags.has("enable-linear-replayssm-spec") and request.rules.padding_slot
    ring = _ring_bytes(request, settings) if replays else 0
    by_request = replays and request.rules.replay_ring_a_request and not isinstance(request.model.state, KdaState)
    return StateDemand(
        slot_bytes=state.slot,
        ratio=strategy.slots_per_request if strategy else 1,
        draft_tokens=speculation.draft_tokens if speculation else 0,
        reserves_drafts=speculation is not None and not replays,
        extra_slot_bytes=0 if by_request else ring,
        fixed_bytes=ring * ((settings.requests or 0) + 1) if by_request else 0,
        requests=settings.requests,
        wanted_slots=wanted_slots(request, settings),
        radix_cache=strategy is not None and strategy.radix_cache,
        memory_ratio=flags.get("mamba-full-memory-ratio") or _MEMORY_RATIO,
    )


def wanted_slots(request: PlanRequest, settings: Settings) -> int | None:
    """`--max-mamba-cache-size`, for one attention replica."""
    wanted: int | None = request.flags.get("max-mamba-cache-size")
    return None if wanted is None else wanted // settings.parallel.attention_dp


def _ring_bytes(request: PlanRequest, settings: Settings) -> int:
    state = request.model.state
    if state is None:
        return 0
    records = request.flags.get("linear-replayssm-cache-len") or _REPLAY_RECORDS
    if not request.rules.replay_ring_a_request and not isinstance(state, KdaState) and settings.speculation:
        records = settings.speculation.draft_tokens
    layers = _charged_layers(request, settings, state)
    return replay_ring_bytes(state, settings.parallel.attention_tensor, layers, records, 2)


def _cap(request: PlanRequest, settings: Settings, tokens: int, share: StateShare | None) -> int:
    state_cap = None
    if share is not None and settings.strategy is not None:
        state_cap = share.slots // settings.strategy.slots_per_request
    return cap_requests(tokens, settings.context_length, settings.requests, state_cap, request.rules)


def _widen(request: PlanRequest, settings: Settings, pool: TokenPool, requests: int) -> TokenPool:
    """0.5.6 and 0.5.7: drafts of all requests get tokens on top of what was sized."""
    speculation = settings.speculation
    if speculation is None or not request.rules.drafts_widen_pool or not speculation.is_eagle_family:
        return pool
    drafts = requests * (speculation.steps * speculation.topk + speculation.draft_tokens) + 100
    page = settings.backend.page_size
    return TokenPool((pool.tokens + drafts) // page * page, pool.sliding)
