"""What can be wrong: the classes of failures, which are part of the command-line contract.

For each: which directions for `--mem-fraction-static` are right (the first is the usual one), whether GPU or host
memory is what ran out, and what it means. Collected from public issue threads and SGLang's source, 0.5.6 to 0.5.23.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Direction = Literal["up", "down", "leave"]


class FailureClass(Struct, frozen=True):
    """One class.

    Attributes:
        directions: what may be said of `--mem-fraction-static`, the usual first; None: nothing.
        is_memory: GPU or host memory is what ran out; None when that can't be told.
        meaning: in a few words.
    """

    directions: tuple[Direction | None, ...]
    is_memory: bool | None
    meaning: str


NONE, UNKNOWN = "none", "unknown"

_LEAVE: tuple[Direction | None, ...] = ("leave", None)

CLASSES: dict[str, FailureClass] = {
    "pool_budget_negative": FailureClass(
        ("up", "leave"), is_memory=True, meaning="weights (and reserves) leave no room for the static pools"
    ),
    "mamba_budget_negative": FailureClass(
        ("leave", "up"), is_memory=True, meaning="state reserve or state pool exceeds the pool"
    ),
    "mamba_pool_alloc_oom": FailureClass(
        ("leave", "up", "down"), is_memory=True, meaning="allocation of the state pool failed"
    ),
    "mamba_slots_exhausted": FailureClass(_LEAVE, is_memory=True, meaning="state slots ran out at run time"),
    "mamba_concurrency_capped": FailureClass(
        _LEAVE, is_memory=True, meaning="requests silently capped by state slots; runs"
    ),
    "draft_not_budgeted": FailureClass(
        ("down",), is_memory=True, meaning="draft weights or draft KV did not fit after the target pools"
    ),
    "weights_oom": FailureClass(_LEAVE, is_memory=True, meaning="weights do not fit"),
    "cuda_graph_oom": FailureClass(("down",), is_memory=True, meaning="out of memory while capturing graphs"),
    "activation_oom": FailureClass(
        ("down",), is_memory=True, meaning="torch out of memory after ready (activations, logits, vision)"
    ),
    "kv_pool_exhausted": FailureClass(("leave", "up", None), is_memory=True, meaning="KV pool ran out at run time"),
    "kv_pool_pressure": FailureClass(("up", "leave", None), is_memory=True, meaning="retractions; runs"),
    "context_exceeds_pool": FailureClass(
        ("up", "leave", None), is_memory=True, meaning="a request or the context is larger than the pool"
    ),
    "workspace_too_small": FailureClass(_LEAVE, is_memory=True, meaning="attention workspace too small"),
    "gpu_memory_foreign": FailureClass(
        _LEAVE, is_memory=True, meaning="memory held by another process, or unbalanced between GPUs"
    ),
    "multi_context_gpu0": FailureClass(_LEAVE, is_memory=True, meaning="several contexts on the first GPU"),
    "pool_accounting_bug": FailureClass(
        _LEAVE, is_memory=False, meaning="SGLang reports a leak in its own accounting; not a shortage"
    ),
    "triton_shared_memory": FailureClass(
        _LEAVE, is_memory=False, meaning="kernel needs more shared memory than the chip has; not VRAM"
    ),
    "host_oom": FailureClass(_LEAVE, is_memory=True, meaning="killed by the kernel or cgroup for host memory"),
    "host_mem_hicache": FailureClass(_LEAVE, is_memory=True, meaning="host memory for hierarchical cache"),
    "dev_shm_exhausted": FailureClass(_LEAVE, is_memory=True, meaning="the shared memory file system is full"),
    "killed_from_outside": FailureClass(
        _LEAVE, is_memory=False, meaning="somebody or something killed it; no error of its own"
    ),
    "http_port_in_use": FailureClass(_LEAVE, is_memory=False, meaning="HTTP port taken"),
    "internal_port_in_use": FailureClass(_LEAVE, is_memory=False, meaning="internal port taken"),
    "false_ready": FailureClass(_LEAVE, is_memory=False, meaning="ready line of a launch that does not own its port"),
    "false_healthy": FailureClass(_LEAVE, is_memory=False, meaning="health 200 while broken"),
    "false_unhealthy": FailureClass(_LEAVE, is_memory=False, meaning="health 503 while fine"),
    "hang_child_died": FailureClass(_LEAVE, is_memory=False, meaning="a child died, the rest waits"),
    "hang_after_restart": FailureClass(_LEAVE, is_memory=False, meaning="hangs after a hard restart"),
    "hang_shutdown": FailureClass(_LEAVE, is_memory=False, meaning="does not end"),
    "orphan_processes": FailureClass(_LEAVE, is_memory=False, meaning="members left over"),
    "broad_or_missed_kill": FailureClass(_LEAVE, is_memory=False, meaning="a kill hit others or missed the root"),
    "slow_release": FailureClass(_LEAVE, is_memory=False, meaning="memory or port returns late"),
    "stale_log": FailureClass(_LEAVE, is_memory=False, meaning="lines of an earlier launch"),
    "self_sigkill": FailureClass(
        _LEAVE, is_memory=False, meaning="SGLang killed its own tree after an error elsewhere"
    ),
    "warmup_failed": FailureClass(_LEAVE, is_memory=False, meaning="warm-up request failed"),
    "rank_died_elsewhere": FailureClass(_LEAVE, is_memory=False, meaning="another rank has the real error"),
    "nccl_timeout": FailureClass(_LEAVE, is_memory=False, meaning="collective timed out"),
    "hang_dist_init": FailureClass(_LEAVE, is_memory=False, meaning="no progress in distributed init"),
    "comm_feature_broken": FailureClass(_LEAVE, is_memory=False, meaning="communication feature unusable here"),
    "kernel_image_missing": FailureClass(_LEAVE, is_memory=False, meaning="no kernel for this GPU"),
    "attention_backend_unsupported": FailureClass(_LEAVE, is_memory=False, meaning="backend unsupported here"),
    "driver_mismatch": FailureClass(_LEAVE, is_memory=False, meaning="driver too old or mismatched"),
    "native_lib_missing": FailureClass(_LEAVE, is_memory=False, meaning="shared library missing"),
    "native_lib_broken": FailureClass(_LEAVE, is_memory=False, meaning="shared library incompatible"),
    "jit_toolchain_missing": FailureClass(_LEAVE, is_memory=False, meaning="nvcc, ninja, compiler or headers missing"),
    "jit_slow_start": FailureClass(_LEAVE, is_memory=False, meaning="long JIT compile"),
    "stale_jit_lock": FailureClass(_LEAVE, is_memory=False, meaning="waits for a lock nobody holds"),
    "dependency_check": FailureClass(_LEAVE, is_memory=False, meaning="package version check failed"),
    "unknown_flag": FailureClass(_LEAVE, is_memory=False, meaning="argparse refuses a flag or value"),
    "incompatible_flags": FailureClass(_LEAVE, is_memory=False, meaning="flags that this release refuses together"),
    "context_length": FailureClass(_LEAVE, is_memory=False, meaning="context length refused"),
    "parallel_shape": FailureClass(_LEAVE, is_memory=False, meaning="TP/EP does not divide"),
    "gpu_selection": FailureClass(_LEAVE, is_memory=False, meaning="GPU index or visibility"),
    "model_access": FailureClass(_LEAVE, is_memory=False, meaning="gated, missing or no network"),
    "model_files_corrupt": FailureClass(_LEAVE, is_memory=False, meaning="files corrupt or incomplete"),
    "arch_unsupported": FailureClass(_LEAVE, is_memory=False, meaning="architecture unknown to this release"),
    "weight_mismatch": FailureClass(_LEAVE, is_memory=False, meaning="weights do not match the model class"),
    "tokenizer_or_template": FailureClass(_LEAVE, is_memory=False, meaning="tokenizer, processor or chat template"),
    "slow_weight_load": FailureClass(_LEAVE, is_memory=False, meaning="loading is slow, not stuck"),
    "hang_after_load": FailureClass(_LEAVE, is_memory=False, meaning="no progress after load"),
    "hang_graph_capture": FailureClass(_LEAVE, is_memory=False, meaning="no progress in capture"),
    "no_accelerator": FailureClass(_LEAVE, is_memory=False, meaning="no GPU visible"),
    "watchdog_timeout": FailureClass(_LEAVE, is_memory=False, meaning="watchdog fired"),
    "cuda_illegal_access": FailureClass(
        ("leave", "down", None), is_memory=False, meaning="illegal access or device assert"
    ),
    "engine_bug": FailureClass(_LEAVE, is_memory=False, meaning="error inside SGLang"),
    "grammar_crash": FailureClass(_LEAVE, is_memory=False, meaning="grammar backend failed"),
    "silent_wrong_output": FailureClass(_LEAVE, is_memory=False, meaning="output wrong, nothing logged"),
    "none": FailureClass((None, "leave"), is_memory=False, meaning="nothing wrong"),
    "unknown": FailureClass((None, "leave"), is_memory=None, meaning="not recognised; the line is still shown"),
    "multi_instance_fraction": FailureClass(
        ("leave", "up", None),
        is_memory=True,
        meaning="several servers on one GPU; the fraction counts from what is free at start",
    ),
    "multi_instance_race": FailureClass(
        _LEAVE, is_memory=True, meaning="two servers started at once and measured each other"
    ),
}
