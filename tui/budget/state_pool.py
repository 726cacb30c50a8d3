"""How many state slots a hybrid model gets, and what is left for its KV cache.

Sources: SGLang 0.5.6.post2 model_executor/model_runner.py:1446, 0.5.11 model_runner_kv_cache_mixin.py:72
(handle_max_mamba_cache), 0.5.23 mem_cache/kv_cache_configurator.py:3229 (_handle_max_mamba_cache). SGLang mixes GiB
floats and byte integers; the steps below keep its order, so that roundings agree.
"""

from __future__ import annotations

from msgspec import Struct

from tui.budget.rules import Rules, StateSplit
from tui.units import GIB

_SLOTS_WITHOUT_RADIX_CACHE = 512  # 0.5.6 to 0.5.8: used when nobody says how many requests


class StateDemand(Struct, frozen=True):
    """What decides the split.

    Attributes:
        slot_bytes: of one slot, on the stage with the most linear layers.
        ratio: slots a running request needs.
        draft_tokens: of a speculative step; 0 without speculation.
        reserves_drafts: each draft token needs a state of its own until it is accepted.
        extra_slot_bytes: what each slot carries beyond its state.
        fixed_bytes: replay rings for all requests.
        requests: allowed by flags for each attention-DP rank; None when nothing is said.
        wanted_slots: `--max-mamba-cache-size` for each attention-DP rank.
        memory_ratio: state against KV cache.
    """

    slot_bytes: int
    ratio: int
    draft_tokens: int
    reserves_drafts: bool
    extra_slot_bytes: int
    fixed_bytes: int
    requests: int | None
    wanted_slots: int | None
    radix_cache: bool
    memory_ratio: float


class StateShare(Struct, frozen=True):
    """The outcome.

    Attributes:
        slots: K; zero or less where the arithmetic says so.
        reserve: bytes taken for drafts' states.
        pool_gib: what was there when slots were counted, as SGLang's error prints it.
        kv_gib: what is left for the KV cache; may be negative.
    """

    slots: int
    reserve: int
    pool_gib: float
    kv_gib: float


def split_pool(rest_gib: float, demand: StateDemand, rules: Rules) -> StateShare:
    """Divide the pool as a release does it."""
    if rules.split is StateSplit.SLOTS_WITH_DRAFTS:
        return _slots_with_drafts(rest_gib, demand)
    if rules.split is StateSplit.RESERVED_FIRST:
        return _reserved_first(rest_gib, demand, rules)
    return _joint(rest_gib, demand, rules)


def _slots_with_drafts(rest_gib: float, demand: StateDemand) -> StateShare:
    per_slot = demand.slot_bytes * (1 + demand.draft_tokens if demand.reserves_drafts else 1)
    if not demand.radix_cache:
        slots = demand.wanted_slots or demand.requests or _SLOTS_WITHOUT_RADIX_CACHE
    else:
        slots = int(_share_gib(rest_gib, demand) * GIB // per_slot)
    reserve = slots * (per_slot - demand.slot_bytes)
    return StateShare(slots, reserve, rest_gib, rest_gib - slots * per_slot / GIB)


def _reserved_first(rest_gib: float, demand: StateDemand, rules: Rules) -> StateShare:
    reserve = 0
    slots = _given_slots(demand, rules)
    if demand.reserves_drafts and (slots is None or not rules.reserves_fitted_only):
        reserve = demand.slot_bytes * (demand.requests or 0) * demand.draft_tokens
    left_gib = rest_gib - reserve / GIB
    if slots is None:
        slots = int(_share_gib(left_gib, demand) * GIB // demand.slot_bytes)
    return StateShare(slots, reserve, left_gib, left_gib - slots * demand.slot_bytes / GIB)


def _joint(rest_gib: float, demand: StateDemand, rules: Rules) -> StateShare:
    padding = 1 if rules.padding_slot else 0
    per_slot = demand.slot_bytes + demand.extra_slot_bytes
    slots = _given_slots(demand, rules)
    is_fitted = slots is None
    if slots is None:
        slots = _fit(_share_gib(rest_gib, demand) * GIB, demand, padding)
    reserve = 0
    if demand.reserves_drafts:
        radix_off = not is_fitted and demand.wanted_slots is None
        served = slots if radix_off else min(demand.requests or 0, slots // demand.ratio)
        reserve = demand.slot_bytes * (served + padding) * demand.draft_tokens
    left_gib = rest_gib - reserve / GIB
    state = (slots + padding) * per_slot + demand.fixed_bytes
    return StateShare(slots, reserve, left_gib, left_gib - state / GIB)


def _fit(budget_bytes: float, demand: StateDemand, padding: int) -> int:
    """As many slots as the state's share holds, with their drafts' states."""
    slot, extra = demand.slot_bytes, demand.extra_slot_bytes
    if demand.reserves_drafts:
        draft = demand.draft_tokens
        per_slot = slot * (1 + draft / demand.ratio) + extra
        return int((budget_bytes - padding * (slot * (1 + draft) + extra)) // per_slot)
    return int((budget_bytes - demand.fixed_bytes - padding * (slot + extra)) // (slot + extra))


def _given_slots(demand: StateDemand, rules: Rules) -> int | None:
    """Slots that flags decide, or None where the memory does."""
    if demand.wanted_slots is not None and (rules.state_size_honoured or not demand.radix_cache):
        return demand.wanted_slots
    if demand.radix_cache:
        return None
    if demand.requests is not None:
        return demand.requests
    return None if rules.radix_off_needs_requests else _SLOTS_WITHOUT_RADIX_CACHE


def _share_gib(pool_gib: float, demand: StateDemand) -> float:
    return pool_gib * demand.memory_ratio / (1 + demand.memory_ratio)
