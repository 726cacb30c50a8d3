"""The real model runners of the releases, as far as their memory pools: `size_pools` for `pool_arithmetic`.

They run in a child process that ends with the case, so what is replaced needs no putting back.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

from tests.oracles.answering import module

GIB = 1 << 30


class _PoolsReadyError(Exception):
    """Stops the runner of 0.5.11 right after its memory pools."""


def size_pools(release: str, server_args: Any, given: dict[str, float], notes: dict[str, Any]) -> None:
    """Construct the model runner and let it size its pools; `notes` receives the figures as they become known.

    Raises:
        Exception: whatever SGLang raises meanwhile.
    """
    # Would compile a Triton kernel and run it once; sizes nothing.
    module("sglang.srt.mem_cache.memory_pool").MHATokenToKVPool._init_kv_copy_and_warmup = lambda _self: None
    runners = {"0.5.11": _run_0_5_11, "0.5.23": _run_0_5_23}
    runner = runners[release](server_args, given, notes)
    notes["max_total_num_tokens"] = runner.max_total_num_tokens
    notes["max_running_requests"] = runner.max_running_requests
    if runner.is_hybrid_swa:
        notes["swa_max_total_num_tokens"] = runner.swa_max_total_num_tokens
    notes |= _allocated(runner)


def _run_0_5_11(server_args: Any, given: dict[str, float], notes: dict[str, Any]) -> Any:
    mixin = module("sglang.srt.model_executor.model_runner_kv_cache_mixin")
    model_runner = module("sglang.srt.model_executor.model_runner")
    _put_groups_0_5_11(server_args)
    mixin.get_available_gpu_memory = lambda *_args, **_kwargs: given["after_gib"]
    runner_class = model_runner.ModelRunner
    runner_class.init_torch_distributed = lambda _self: given["before_gib"]
    runner_class.load_model = _load_nothing
    model_runner.compute_initial_expert_location_metadata = lambda **_kwargs: None
    runner_class.maybe_init_ngram_embedding = _stop  # the next step after the pools
    _note_splits(runner_class, "handle_max_mamba_cache", notes, lambda: int(server_args.max_mamba_cache_size), 0)
    _note_budget(module("sglang.srt.model_executor.pool_configurator"), notes)
    runner = runner_class.__new__(runner_class)
    with suppress(_PoolsReadyError):
        runner.__init__(
            model_config=module("sglang.srt.configs.model_config").ModelConfig.from_server_args(server_args),
            mem_fraction_static=server_args.mem_fraction_static,
            gpu_id=0,
            tp_rank=0,
            tp_size=server_args.tp_size,
            moe_ep_rank=0,
            moe_ep_size=server_args.ep_size,
            pp_rank=0,
            pp_size=1,
            nccl_port=0,
            server_args=server_args,
        )
    return runner


def _run_0_5_23(server_args: Any, given: dict[str, float], notes: dict[str, Any]) -> Any:
    context = module("sglang.srt.runtime_context")
    configurator = module("sglang.srt.mem_cache.kv_cache_configurator")
    runner_class = module("sglang.srt.model_executor.model_runner").ModelRunner
    ranks = context.SpawnRanks(world_rank=0, gpu_id=0)
    context.publish(server_args, role="scheduler", ranks=ranks)
    _put_groups_0_5_23(context.get_parallel())
    configurator.get_available_gpu_memory = lambda *_args, **_kwargs: given["after_gib"]

    def measure(self: Any) -> None:
        self.pre_model_load_memory = given["before_gib"]
        self.pp_group = context.get_parallel().pp_group

    runner_class.init_torch_distributed = measure
    runner_class.load_model = _load_nothing
    runner_class.maybe_init_expert_location_metadata = lambda _self: None
    runner_class._init_post_memory_pool_components = lambda _self: None
    schedule = context.get_schedule()
    splitter = configurator.KVCacheConfigurator
    _note_splits(splitter, "_handle_max_mamba_cache", notes, lambda: int(schedule.max_mamba_cache_size), 1)
    _note_budget(module("sglang.srt.model_executor.pool_configurator"), notes)
    runner = runner_class(
        model_config=module("sglang.srt.configs.model_config").ModelConfig.from_server_args(server_args),
        mem_fraction_static=schedule.mem_fraction_static,
        gpu_id=0,
        nccl_port=0,
        server_args=server_args,
    )
    runner.alloc_memory_pool()
    return runner


def _load_nothing(self: Any) -> None:
    """What loading leaves behind for the sizing, without weights."""
    self.model = module("torch").nn.Module()
    self.dtype = self.model_config.dtype
    self.sliding_window_size = self.model_config.sliding_window_size


def _stop(_self: Any) -> None:
    raise _PoolsReadyError


def _note_splits(owner: Any, name: str, notes: dict[str, Any], slots: Callable[[], int], padding: int) -> None:
    """Note the state split, GiB, negative where it can't fit.

    The reserve for draft tokens is not kept by SGLang: it is what is left of the rest when the KV cache and the slots,
    with `padding` more of them, have been taken off.
    """
    original = getattr(owner, name)

    def split(self: Any, rest_gib: float) -> Any:
        per_slot = self.mambaish_config.mamba2_cache_params.mamba_cache_per_req
        notes.update(rest_gib=rest_gib, state_bytes_per_slot=per_slot)
        left_gib = original(self, rest_gib)
        reserve_gib = rest_gib - left_gib - (slots() + padding) * per_slot / GIB
        notes.update(state_slots=slots(), draft_reserve_gib=round(reserve_gib, 6), kv_rest_gib=left_gib)
        return left_gib

    setattr(owner, name, split)


def _note_budget(pool_configurator: Any, notes: dict[str, Any]) -> None:
    """Note the bytes that the KV cache may take and what a token costs, also when no pool comes of it."""
    for name in ("DefaultPoolConfigurator", "HybridSWAPoolConfigurator"):
        configurator = getattr(pool_configurator, name)
        original = configurator.calculate_pool_sizes

        def note(self: Any, available_bytes: int, page_size: int, original: Any = original) -> Any:
            notes["kv_budget_bytes"] = available_bytes
            notes["bytes_per_token"] = self._cell_size
            return original(self, available_bytes, page_size)

        configurator.calculate_pool_sizes = note


def _allocated(runner: Any) -> dict[str, Any]:
    """Exact sizes of the tensors that were made."""
    sizes: dict[str, Any] = {}
    pool = getattr(runner.req_to_token_pool, "mamba_pool", None)
    if pool is not None:
        sizes["state_allocated_bytes"] = round(pool.mem_usage * GIB)
    kv_bytes = runner.token_to_kv_pool.get_kv_size_bytes()
    sizes["kv_allocated_bytes"] = int(sum(kv_bytes) if isinstance(kv_bytes, tuple) else kv_bytes)
    return sizes


def _group(world_size: int) -> SimpleNamespace:
    return SimpleNamespace(
        world_size=world_size,
        rank=0,
        rank_in_group=0,
        local_rank=0,
        cpu_group=None,
        device_group=None,
        is_first_rank=True,
        is_last_rank=True,
    )


def _put_groups_0_5_11(server_args: Any) -> None:
    """Process groups of rank 0, which nobody else joins."""
    state = module("sglang.srt.distributed.parallel_state")
    replicas = server_args.dp_size if server_args.enable_dp_attention else 1
    state._ATTN_TP = _group(server_args.tp_size // replicas)
    for name in ("_WORLD", "_TP", "_MOE_TP"):
        setattr(state, name, _group(server_args.tp_size))
    for name in ("_PP", "_ATTN_CP", "_MOE_EP", "_MOE_DP"):
        setattr(state, name, _group(1))


def _put_groups_0_5_23(parallel: Any) -> None:
    parallel.override_permanently(
        world_group=_group(parallel.tp_size),
        tp_group=_group(parallel.tp_size),
        pp_group=_group(1),
        attn_tp_group=_group(parallel.attn_tp_size),
    )
