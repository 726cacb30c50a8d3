"""What the pools allocate, as SGLang logs it: keys and values, convolution windows, state matrices.

Sources: SGLang 0.5.11 and 0.5.23 mem_cache/memory_pool.py (MambaPool, MHATokenToKVPool); the padding page and the
padding slot are part of the logged sizes.
"""

from __future__ import annotations

from tui.budget.pools import Pools, Shapes, wanted_slots
from tui.budget.settings import Settings
from tui.budget.types import KvCache, PlanRequest, StateCache
from tui.model.shapes import KdaState


def kv_cache(shapes: Shapes, settings: Settings, pools: Pools) -> KvCache:
    """The KV cache of a stage; its sizes are None where nothing can be allocated."""
    full, side, page = shapes.cell.full, shapes.cell.sliding, settings.backend.page_size
    tokens = pools.tokens.tokens
    fits = tokens > 0
    rows = tokens + page
    side_rows = (pools.tokens.sliding or 0) + page
    is_latent = full.latent > 0
    has_side = fits and side is not None
    return KvCache(
        bytes_per_token=full.stored,
        cell_bytes=shapes.cell.bytes,
        tokens=tokens if pools.is_sized else None,
        keys=rows * full.keys if fits and not is_latent else None,
        values=rows * full.values if fits and not is_latent else None,
        latent=rows * full.latent if fits and is_latent else None,
        sliding_tokens=pools.tokens.sliding,
        sliding_keys=side_rows * side.keys if has_side and side is not None else None,
        sliding_values=side_rows * side.values if has_side and side is not None else None,
    )


def state_cache(request: PlanRequest, settings: Settings, shapes: Shapes, pools: Pools) -> StateCache | None:
    """The recurrent state of a stage; None for models without."""
    state, share, strategy = shapes.state, pools.share, settings.strategy
    if state is None or strategy is None:
        return None
    slots = wanted_slots(request, settings) if share is None else share.slots
    rows = 0 if share is None else max(share.slots, 0) + 1
    intermediate_ssm, intermediate_conv = _intermediates(request, settings, shapes, pools)
    return StateCache(
        slots=slots,
        slot_bytes=state.slot,
        slots_per_request=strategy.slots_per_request,
        strategy=strategy.name if strategy.radix_cache else "no radix cache",
        conv=rows * state.conv,
        ssm=rows * state.ssm,
        reserve=0 if share is None else share.reserve,
        intermediate_ssm=intermediate_ssm,
        intermediate_conv=intermediate_conv,
    )


def _intermediates(request: PlanRequest, settings: Settings, shapes: Shapes, pools: Pools) -> tuple[int, int]:
    """States of drafts that aren't accepted yet: matrices and windows."""
    speculation, state, share = settings.speculation, shapes.state, pools.share
    if speculation is None or state is None or share is None or pools.failure is not None:
        return 0, 0
    drafts = speculation.draft_tokens
    rows = (pools.requests if request.release.includes("0.5.7") else share.slots) + 1
    replays = request.flags.has("enable-linear-replayssm-spec") and request.rules.padding_slot
    ssm = 0 if replays else rows * drafts * state.ssm
    if shares_windows(request, settings):
        return ssm, rows * state.conv_window * (drafts + state.conv_kernel - 2)
    return ssm, rows * drafts * state.conv


def shares_windows(request: PlanRequest, settings: Settings) -> bool:
    """Windows of consecutive drafts overlap, and since 0.5.14 are stored once."""
    speculation = settings.speculation
    return (
        speculation is not None
        and speculation.topk <= 1
        and request.release.includes("0.5.14")
        and not (isinstance(request.model.state, KdaState) and request.release.includes("0.5.16"))
    )
