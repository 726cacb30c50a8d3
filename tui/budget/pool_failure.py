"""How a start ends when its pools can't be made, in SGLang's words and in ours.

Sources: SGLang 0.5.11 pool_configurator.py:40 and managers/tp_worker.py:297; 0.5.23 kv_cache_configurator.py:3040,
3150, 3380 and pool_configurator.py (validate_swa_pool_size).
"""

from __future__ import annotations

import math

from msgspec import Struct

from tui.budget.rules import StateSplit
from tui.budget.settings import Settings
from tui.budget.state_pool import StateShare
from tui.budget.token_pool import TokenPool
from tui.budget.types import PlanRequest
from tui.units import MIB

NOT_ENOUGH = "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static."
_FEWEST_TOKENS = 6


class PoolFailure(Struct, frozen=True):
    """Why.

    Attributes:
        cause: "state" where recurrent state took it all, "weights" where nothing was left, "tokens", "requests".
        error: what SGLang logs.
    """

    cause: str
    error: str


class Sized(Struct, frozen=True):
    """What was sized, for the checks that follow."""

    share: StateShare | None
    kv_gib: float
    tokens: TokenPool
    requests: int
    before_gib: float
    after_gib: float


def find_failure(request: PlanRequest, settings: Settings, sized: Sized, slot_bytes: int) -> PoolFailure | None:
    """The first check that fails, in the release's order."""
    return (
        _find_shortage(request, settings, sized, slot_bytes)
        or _find_lack_of_requests(request, settings, sized)
        or _find_small_pool(request, settings, sized.tokens)
    )


def _find_shortage(request: PlanRequest, settings: Settings, sized: Sized, slot_bytes: int) -> PoolFailure | None:
    share = sized.share
    if share is not None and request.rules.split is StateSplit.JOINT and share.slots <= 0:
        return PoolFailure("state", _no_slots(share, slot_bytes))
    took_it = share is not None and (share.reserve > 0 or share.slots > 0)
    cause = "state" if took_it else "weights"
    if sized.kv_gib <= 0 and request.rules.draft_first:
        return PoolFailure(cause, _no_room(settings, sized))
    return PoolFailure(cause, NOT_ENOUGH) if sized.tokens.tokens <= 0 else None


def _find_lack_of_requests(request: PlanRequest, settings: Settings, sized: Sized) -> PoolFailure | None:
    return PoolFailure("requests", _no_requests(request, settings, sized)) if sized.requests <= 0 else None


def _find_small_pool(request: PlanRequest, settings: Settings, pool: TokenPool) -> PoolFailure | None:
    least = (request.model.attention.window or 0) + settings.backend.page_size
    if pool.sliding is not None and pool.sliding <= least and request.release.includes("0.5.16"):
        return PoolFailure("tokens", _no_window(pool.sliding, request.model.attention.window or 0, least))
    if pool.tokens <= _FEWEST_TOKENS:
        return PoolFailure("tokens", "AssertionError: Memory pool size is too small")
    return None


def _no_slots(share: StateShare, slot_bytes: int) -> str:
    return (
        "RuntimeError: Not enough GPU memory for hybrid (mamba/linear-attention) state cache. "
        f"Computed max_mamba_cache_size={share.slots} (total_rest_memory={share.pool_gib:.2f} GB, "
        f"mamba_cache_per_req={slot_bytes / MIB:.2f} MB)."
    )


def _no_room(settings: Settings, sized: Sized) -> str:
    least = math.ceil((1 - sized.after_gib / sized.before_gib) * 1000) / 1000
    return (
        "ValueError: Loaded weights leave no GPU memory for the KV cache under "
        f"--mem-fraction-static={settings.fraction}. Raise --mem-fraction-static above {least:.3f}"
    )


def _no_requests(request: PlanRequest, settings: Settings, sized: Sized) -> str:
    if request.rules.split is not StateSplit.JOINT or sized.share is None:
        return "AssertionError: max_running_request is zero"
    ratio = settings.strategy.slots_per_request if settings.strategy else 1
    return (
        "RuntimeError: Hybrid (mamba/linear-attention) state cache is too small to serve any requests. "
        f"max_mamba_cache_size={sized.share.slots}, mamba_ratio={ratio}, resulting max_num_reqs={sized.requests}."
    )


def _no_window(sliding: int, window: int, least: int) -> str:
    return (
        f"ValueError: SWA pool ({sliding} tokens) cannot hold even one request: the prefill admission floor is "
        f"sliding_window_size ({window}) + page_size ({least - window})."
    )
