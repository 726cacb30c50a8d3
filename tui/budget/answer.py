"""A budget as the JSON that scripts read (`sgltui plan --json`)."""

from __future__ import annotations

from typing import Any

from tui.budget.types import BudgetItem, FlagChange, KvCache, MemoryBudget, RankBudget, StateCache
from tui.budget.words import number_or_word
from tui.units import GIB, MIB

SCHEMA = 1


def to_json(budget: MemoryBudget) -> dict[str, Any]:
    """The contract's fields; sizes in GiB unless the name says bytes or MiB, unknown values null."""
    return {
        "schema": SCHEMA,
        "sglang": budget.release,
        "model": budget.model,
        "gpus": [
            {"name": card.name, "total_mib": card.total_mib, "free_mib": _free_mib(card.total_mib, card.used_bytes)}
            for card in budget.cards
        ],
        "verdict": budget.verdict.value,
        "stage_of_failure": budget.stage_of_failure.value if budget.stage_of_failure else None,
        "reason": budget.reason,
        "expected_error": budget.expected_error,
        "mem_fraction_static": budget.fraction,
        "avail_before_gib": _gib(budget.available),
        "rest_gib": _gib(budget.rest),
        "weights_gib": _gib(budget.weights),
        "weights_bytes_per_rank": budget.weights,
        "load_overhead_gib": _gib(budget.load_overhead),
        "draft_weights_gib": _gib(budget.draft_weights),
        "mamba": None if budget.state is None else _state(budget.state),
        "kv": None if budget.kv is None else _kv(budget.kv),
        "max_running_requests": budget.max_running_requests,
        "chunked_prefill_size": budget.chunked_prefill_size,
        "cuda_graph_max_bs": budget.cuda_graph_max_bs,
        "context_length": budget.context_length,
        "ranks": [_rank(rank) for rank in budget.ranks],
        "changes": [_change(change) for change in budget.changes],
        "warnings": list(budget.warnings),
        "notes": list(budget.notes),
    }


def _state(state: StateCache) -> dict[str, Any]:
    return {
        "slots": state.slots,
        "slot_bytes": state.slot_bytes,
        "slots_per_request": state.slots_per_request,
        "strategy": state.strategy,
        "conv_gib": _gib(state.conv),
        "ssm_gib": _gib(state.ssm),
        "reserve_gib": _gib(state.reserve),
        "intermediate_ssm_gib": _gib(state.intermediate_ssm),
        "intermediate_conv_gib": _gib(state.intermediate_conv),
    }


def _kv(kv: KvCache) -> dict[str, Any]:
    return {
        "bytes_per_token": kv.bytes_per_token,
        "cell_bytes": kv.cell_bytes,
        "tokens": kv.tokens,
        "k_gib": _gib(kv.keys),
        "v_gib": _gib(kv.values),
        "kv_gib": _gib(kv.latent),
        "swa_tokens": kv.sliding_tokens,
        "swa_k_gib": _gib(kv.sliding_keys),
        "swa_v_gib": _gib(kv.sliding_values),
    }


def _rank(rank: RankBudget) -> dict[str, Any]:
    return {
        "gpu": rank.gpu,
        "total_bytes": rank.total,
        "items": [_item(item) for item in rank.items],
        "timeline": [
            {
                "stage": point.stage,
                "free_gib": _gib(point.free),
                "low_gib": _gib(point.low),
                "high_gib": _gib(point.high),
            }
            for point in rank.timeline
        ],
    }


def _item(item: BudgetItem) -> dict[str, Any]:
    return {
        "component": item.component,
        "bytes": item.size,
        "low": item.low,
        "high": item.high,
        "basis": item.basis.value,
        "formula": item.formula,
    }


def _change(change: FlagChange) -> dict[str, Any]:
    return {
        "set": {name: number_or_word(value) for name, value in change.set.items()},
        "unset": list(change.unset),
        "upgrade": change.upgrade,
        "verdict": change.verdict.value,
        "effect": change.effect,
        "costs": change.costs,
    }


def _gib(size: int | None) -> float | None:
    return None if size is None else round(size / GIB, 4)


def _free_mib(total_mib: int | None, used_bytes: int) -> int | None:
    return None if total_mib is None else total_mib - used_bytes // MIB
