"""How much of a GPU the simulated server gives to its pools: SGLang's own order of arithmetic, simplified.

This is a stand-in's arithmetic, not the product's plan (`tui.budget`): the two are written apart on purpose, so that
tests can hold one against the other. Sizes are bytes on one GPU.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from tui.simulator.models import Model, State
from tui.simulator.ranks import gpus_per_replica

GIB = 1 << 30
_STATE_SHARE = 0.9  # --mamba-full-memory-ratio
_LEAST_REQUESTS, _MOST_REQUESTS, _REQUESTS_PER_CONTEXT = 2048, 4096, 512


class PoolError(Exception):
    """Nothing is left for the pools; `kind` names SGLang's exception type."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


@dataclass(frozen=True, slots=True)
class Memory:
    """Free memory that pool sizing starts from: before the weights, and now."""

    before_bytes: int
    now_bytes: int


@dataclass(frozen=True, slots=True)
class StatePool:
    """The Mamba cache: slots, and what they take.

    Attributes:
        slots_per_request: kept free for each that may run.
    """

    slots: int
    slots_per_request: int
    conv_bytes: int
    ssm_bytes: int
    draft_conv_bytes: int = 0
    draft_ssm_bytes: int = 0

    @property
    def held_per_request(self) -> int:
        """What one holds while it runs: its own, those it tracks the state in, and that of its prefix in the tree.

        The last of `slots_per_request` is for the moment in which it is copied (0.5.11 `mamba_radix_cache.py:594`).
        """
        return max(self.slots_per_request - 1, 1)

    @property
    def total_bytes(self) -> int:
        """All four buffers."""
        return self.conv_bytes + self.ssm_bytes + self.draft_conv_bytes + self.draft_ssm_bytes


@dataclass(frozen=True, slots=True)
class Pools:
    """What is allocated."""

    tokens: int
    kv_bytes: int
    max_running_requests: int
    state: StatePool | None


def size_pools(model: Model, args: dict[str, Any], memory: Memory, release: str) -> Pools:
    """Sizes for one rank.

    Raises:
        PoolError: the release's own complaint when nothing is left.
    """
    rest = memory.now_bytes - int(memory.before_bytes * (1 - args["mem_fraction_static"]))
    if rest <= 0 and release != "0.5.11":
        raise PoolError("ValueError", _weights_fill_it(args["mem_fraction_static"], memory))
    slots, state_bytes = _split_state(model, args, rest, release)
    cell = max(1, model.kv_bytes_per_token // gpus_per_replica(args)) // (2 if "fp8" in args["kv_cache_dtype"] else 1)
    tokens = (rest - state_bytes) // cell
    if args["max_total_tokens"]:
        tokens = min(tokens, args["max_total_tokens"])
    if tokens <= 0:
        raise PoolError("RuntimeError", "Not enough memory. Please try to increase --mem-fraction-static.")
    requests = _max_requests(model, args, tokens)
    if model.state is None:
        return Pools(tokens, tokens * cell, requests, None)
    requests = min(requests, slots // _slots_per_request(args, release))
    return Pools(tokens, tokens * cell, requests, _state_pool(model.state, args, slots, requests, release))


def _weights_fill_it(fraction: float, memory: Memory) -> str:
    least = 1 - memory.now_bytes / memory.before_bytes
    return (
        f"Loaded weights leave no GPU memory for the KV cache under --mem-fraction-static={fraction}. Raise "
        f"--mem-fraction-static above {math.ceil(least * 1000) / 1000} (minimum viable = 1 - available/pre = "
        f"{least:.4f}). If using speculative decoding, draft weights are now counted."
    )


def _max_requests(model: Model, args: dict[str, Any], tokens: int) -> int:
    context = args["context_length"] or model.context_length
    usual = min(max(int(tokens / context * _REQUESTS_PER_CONTEXT), _LEAST_REQUESTS), _MOST_REQUESTS)
    return min(args["max_running_requests"] or usual, usual, max(tokens // 2, 1))


def _draft_tokens(args: dict[str, Any]) -> int:
    return (args["speculative_num_draft_tokens"] or 4) if args["speculative_algorithm"] else 0


def _slot_bytes(state: State, args: dict[str, Any]) -> tuple[int, int]:
    ssm = state.ssm_bytes // (2 if args["mamba_ssm_dtype"] in ("bfloat16", "float16") else 1)
    return state.conv_bytes // gpus_per_replica(args), ssm // gpus_per_replica(args)


def _slots_per_request(args: dict[str, Any], release: str) -> int:
    if args["disable_radix_cache"]:
        return 1
    if release == "0.5.11":
        extra = args["mamba_scheduler_strategy"] == "extra_buffer"
    else:
        extra = args["mamba_radix_cache_strategy"] != "no_buffer"
    if not extra:
        return 3
    return 4 if args["disable_overlap_schedule"] else 5


def _split_state(model: Model, args: dict[str, Any], rest: int, release: str) -> tuple[int, int]:
    """State slots, and the bytes that the KV pool loses to them."""
    if model.state is None:
        return 0, 0
    slot = sum(_slot_bytes(model.state, args))
    return (_split_0511 if release == "0.5.11" else _split_0523)(args, rest, slot)


def _split_0511(args: dict[str, Any], rest: int, slot: int) -> tuple[int, int]:
    """A fixed reserve for drafts is taken first, for as many requests as are asked for."""
    requests = args["max_running_requests"]
    reserve = slot * (requests or 0) * _draft_tokens(args)
    rest -= reserve
    if args["max_mamba_cache_size"]:
        slots = int(args["max_mamba_cache_size"])
    elif args["disable_radix_cache"] and requests:
        slots = requests
    else:
        slots = int(rest * _STATE_SHARE / (1 + _STATE_SHARE) // slot)
    return slots, reserve + slots * slot


def _split_0523(args: dict[str, Any], rest: int, slot: int) -> tuple[int, int]:
    """The reserve for drafts follows the slots that fit."""
    drafts, ratio = _draft_tokens(args), _slots_per_request(args, "0.5.23")
    requests = args["max_running_requests"] or _MOST_REQUESTS
    share = rest * _STATE_SHARE / (1 + _STATE_SHARE)
    if args["max_mamba_cache_size"]:
        slots = int(args["max_mamba_cache_size"])
    elif args["disable_radix_cache"]:
        slots = requests
    else:
        slots = int((share - slot * (1 + drafts)) // (slot * (1 + drafts / ratio)))
    if slots <= 0:
        raise PoolError("RuntimeError", _no_slots(slots, rest, slot))
    reserve = slot * (min(requests, slots // ratio) + 1) * drafts
    return slots, reserve + (slots + 1) * slot


def _no_slots(slots: int, rest: int, slot: int) -> str:
    return (
        "Not enough GPU memory for hybrid (mamba/linear-attention) state cache. Computed "
        f"max_mamba_cache_size={slots} (total_rest_memory={rest / GIB:.2f} GB, mamba_cache_per_req="
        f"{slot / (1 << 20):.2f} MB). Try: (1) reduce --max-running-requests, (2) increase --mem-fraction-static, "
        "(3) reduce --speculative-num-draft-tokens, or (4) use GPUs with more memory."
    )


def _state_pool(state: State, args: dict[str, Any], slots: int, requests: int, release: str) -> StatePool:
    conv, ssm = _slot_bytes(state, args)
    drafts = _draft_tokens(args) * (requests + 1)
    per_request = _slots_per_request(args, release)
    return StatePool(slots, per_request, (slots + 1) * conv, (slots + 1) * ssm, drafts * conv, drafts * ssm)
