"""Lines that tell of memory that ran out: pools, states, weights, graphs, activations, the machine's own memory.

One text, `CUDA out of memory`, is six different failures: the stage of the rank that says it decides.
"""

from __future__ import annotations

from tui.diagnosis.progress import Stage
from tui.diagnosis.rule import Circumstances, Rule, make_rule

_OUT = (
    "out of memory",
    "OutOfMemoryError",
    "can't allocate memory",
    "cudaErrorMemoryAllocation",
    "hipErrorOutOfMemory",
    "CUBLAS_STATUS_ALLOC_FAILED",
)
_OUT_PATTERN = (
    r"(?:CUDA|HIP|NPU|XPU|MUSA)\]?(?: error)?:? out of memory|OutOfMemoryError|can't allocate memory"
    r"|hipErrorOutOfMemory|cudaErrorMemoryAllocation|CUBLAS_STATUS_ALLOC_FAILED"
)
_BEFORE_POOLS = frozenset({Stage.ARGS, Stage.IMPORT, Stage.DOWNLOAD, Stage.DISTRIBUTED_INIT, Stage.WEIGHT_LOAD})
_POOL = frozenset({Stage.MEMORY_POOL})
_SERVING = frozenset({Stage.WARMUP, Stage.READY, Stage.RUNTIME, Stage.SHUTDOWN})
_DRAFT_FRAMES = (
    "eagle_worker",
    "eagle_draft",
    "draft_worker",
    "multi_layer_eagle",
    "standalone_worker",
    "dflash_worker",
)
_STATE_FRAMES = ("_init_mamba_pool", "in MambaPool", "MambaPool(", "HybridReqToTokenPool", "mamba_pool")


def _loads_draft(at: Circumstances) -> bool:
    """The target's pools exist already, or the traceback goes through a draft worker."""
    return (at.loads > 1 and at.pools > 0) or any(name in at.frames for name in _DRAFT_FRAMES)


def _allocates_states(at: Circumstances) -> bool:
    """Where the log doesn't tell the model's class, states are the likelier: their pool can be too large."""
    return at.pools == 0 and (at.hybrid is not False or any(name in at.frames for name in _STATE_FRAMES))


def _is_behind_pools(at: Circumstances) -> bool:
    return at.pools > 0


def _is_graph_capture(at: Circumstances) -> bool:
    return at.stage is Stage.CUDA_GRAPH_CAPTURE or "cuda_graph_runner" in at.frames


_OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"

MEMORY: tuple[Rule, ...] = (
    make_rule(
        "shared-memory-of-a-kernel",
        "triton_shared_memory",
        "out of resource: ",
        words="a kernel needs more on-chip shared memory than this GPU has; that isn't its VRAM",
        sample="triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 163840, "
        "Hardware limit: 101376. Reducing block sizes or `num_stages` may help.",
    ),
    make_rule(
        "states-no-room",
        "mamba_budget_negative",
        "Not enough GPU memory for hybrid (mamba/linear-attention) state cache",
        pattern=r"state cache\.(?: Computed max_mamba_cache_size=(?P<slots>-?\d{1,9}) "
        r"\(total_rest_memory=(?P<rest>-?[\d.]{1,12}) GB)?",
        words="the recurrent state of a hybrid model finds no room: {slots} slots for a rest of {rest} GiB",
        sample="RuntimeError: Not enough GPU memory for hybrid (mamba/linear-attention) state cache. Computed "
        "max_mamba_cache_size=-12 (total_rest_memory=-1.70 GB, mamba_cache_per_req=146.81 MB).",
    ),
    make_rule(
        "states-too-few",
        "mamba_budget_negative",
        ("state cache is too small to serve any requests", "max_running_request is zero"),
        words="the state slots aren't enough for a single request",
        sample="RuntimeError: Hybrid (mamba/linear-attention) state cache is too small to serve any requests. "
        "max_mamba_cache_size=2, mamba_ratio=5, resulting max_num_reqs=0.",
    ),
    make_rule(
        "not-enough-memory",
        "pool_budget_negative",
        "Not enough memory",
        pattern=r"Not enough memory(?:\. Please try to increase --mem-fraction-static|[.,]|$)",
        words="it ran out of room while sizing its pools: weights and reserves leave nothing for the KV cache",
        sample="RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.",
    ),
    make_rule(
        "weights-leave-nothing",
        "pool_budget_negative",
        "leave no GPU memory for the KV cache",
        pattern=r"leave no GPU memory for the KV cache(?: under --mem-fraction-static=(?P<now>[\d.e-]{1,20})\. "
        r"Raise --mem-fraction-static above (?P<least>[\d.]{1,9}))?",
        words="it ran out of room while sizing its pools: at --mem-fraction-static {now} the weights leave nothing; "
        "SGLang computes {least} as the least",
        sample="ValueError: Loaded weights leave no GPU memory for the KV cache under --mem-fraction-static=0.8. "
        "Raise --mem-fraction-static above 0.912",
    ),
    make_rule(
        "pool-negative",
        "pool_budget_negative",
        ("max_total_num_tokens=-", "Memory pool size is too small", "cannot hold even one request"),
        words="the KV pool would have no room for a single request",
        sample="self.max_total_num_tokens=-1520 is negative",
    ),
    make_rule(
        "unbalanced",
        "gpu_memory_foreign",
        "The memory capacity is unbalanced",
        pattern=r"capacity is unbalanced(?:.{0,120}pre_model_load_memory=(?P<least>[\d.]{1,12}), "
        r"local_gpu_memory=(?P<here>[\d.]{1,12}))?",
        words="another GPU of this launch has only {least} GiB free while this rank's has {here}: "
        "something else holds memory there",
        sample="RuntimeError: The memory capacity is unbalanced. Some GPUs may be occupied by other processes. "
        "pre_model_load_memory=38.12, local_gpu_memory=78.81, local_gpu_memory * 0.9=70.93",
    ),
    make_rule(
        "host-cache",
        "host_mem_hicache",
        "Not enough host memory available",
        pattern=r"Not enough host memory available\.(?: Requesting (?P<asked>[\d.]{1,12}) GB but only have "
        r"(?P<free>[\d.]{1,12}) GB)?",
        words="the hierarchical cache asks for {asked} GB of host memory per rank, and {free} GB are free",
        sample="ValueError: Not enough host memory available. Requesting 40.00 GB but only have 44.87 GB free. "
        "Please reduce the size of the hierarchical cache.",
    ),
    make_rule(
        "shared-memory-segment",
        "dev_shm_exhausted",
        ("Error while creating shared memory segment", "No space left on device", "Bus error"),
        pattern=r".{0,60}creating shared memory segment|No space left on device.{0,200}/dev/shm"
        r"|/dev/shm.{0,200}No space left|Fatal Python error: Bus error|Bus error \(core dumped\)",
        fatal=True,
        words="the machine's shared memory is full: too small for the ranks, or left over by servers that were killed",
        sample="Error while creating shared memory segment /dev/shm/nccl-lNPZ0f (size 9637888)",
    ),
    make_rule(
        "slots-exhausted",
        "mamba_slots_exhausted",
        ("Can not alloc mamba cache", "Not enough space for mamba"),
        words="the state slots of the hybrid model ran out while it served",
        sample="AssertionError: Not enough space for mamba ping pong idx, try to increase --mamba-full-memory-ratio.",
    ),
    make_rule(
        "request-slots",
        "kv_pool_exhausted",
        "alloc_req_slots runs out of memory",
        direction="leave",
        words="SGLang's table of requests was full",
        sample="RuntimeError: alloc_req_slots runs out of memory. Please set a smaller number for "
        "`--max-running-requests`. self.req_to_token_pool.available_size()=1, num_reqs=2,",
    ),
    make_rule(
        "kv-pool-at-run-time",
        "kv_pool_exhausted",
        ("Prefill out of memory", "Decode out of memory", "aborted last request", "KV cache pool is full and"),
        pattern=r"(?:Prefill|Decode) out of memory|aborted last request|KV cache pool is full and",
        words="the KV pool ran out while it served",
        sample="RuntimeError: Prefill out of memory. Try to lower your batch size.",
    ),
    make_rule(
        "input-too-long",
        "context_exceeds_pool",
        "exceeds the maximum allowed length",
        pattern=r"Input length \((?P<tokens>\d{1,12}) tokens\) exceeds the maximum allowed length "
        r"\((?P<most>\d{1,12}) tokens\)",
        words="a request of {tokens} tokens came, and the pool holds {most}",
        sample="Input length (160062 tokens) exceeds the maximum allowed length (59862 tokens). Use a shorter input "
        "or enable --allow-auto-truncate.",
    ),
    make_rule(
        "pool-leak",
        "pool_accounting_bug",
        ("memory leak detected", "pool memory leak", "mem leak"),
        pattern=r"memory leak detected!|pool memory leak|mem leak detected",
        words="SGLang found its own bookkeeping of the pool inconsistent; nothing is short",
        sample="ValueError: token_to_kv_pool_allocator memory leak detected! full_available_size=6016",
    ),
    make_rule(
        "workspace",
        "workspace_too_small",
        ("AlignedAllocator", "workspace buffer is too small", "workspace size is too small"),
        pattern=r"AlignedAllocator|[Ww]orkspace (?:buffer|size) is too small|Buffer overflow when allocating",
        words="the attention kernels' workspace is too small for this batch",
        sample="RuntimeError: Error in function 'aligned_alloc': Buffer overflow when allocating memory for "
        "batch_prefill_tmp_v with size 285212672 and alignment 16 in AlignedAllocator",
    ),
    make_rule(
        "draft-oom",
        "draft_not_budgeted",
        _OUT,
        pattern=_OUT_PATTERN,
        stages=_BEFORE_POOLS | _POOL,
        when=_loads_draft,
        words="the draft model found no room behind the target's pools",
        sample=_OOM,
    ),
    make_rule(
        "graph-oom",
        "cuda_graph_oom",
        _OUT,
        pattern=_OUT_PATTERN,
        when=_is_graph_capture,
        words="it ran out of GPU memory while capturing CUDA graphs, behind the pools",
        sample="Exception: Capture cuda graph failed: CUDA out of memory. Tried to allocate 394.00 MiB.",
    ),
    make_rule(
        "weights-oom",
        "weights_oom",
        _OUT,
        pattern=_OUT_PATTERN,
        stages=_BEFORE_POOLS,
        words="the weights don't fit; --mem-fraction-static isn't read before they are loaded",
        sample=_OOM,
    ),
    make_rule(
        "state-pool-oom",
        "mamba_pool_alloc_oom",
        _OUT,
        pattern=_OUT_PATTERN,
        stages=_POOL,
        when=_allocates_states,
        words="the pool of recurrent states couldn't be allocated",
        sample=_OOM,
    ),
    # 0.5.11 mem_cache/memory_pool.py:282: one tensor holds the states of all layers; KV buffers are one a layer.
    make_rule(
        "state-pool-by-size",
        "mamba_pool_alloc_oom",
        "Tried to allocate",
        pattern=r"out of memory\. Tried to allocate (?P<size>[4-9]\.\d{1,3}|\d{2,4}\.\d{1,3}) GiB",
        stages=_POOL,
        when=lambda at: at.pools == 0,
        words="a piece of {size} GiB couldn't be allocated: all layers' states are one piece, KV caches one a layer",
        sample="torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 11.60 GiB",
    ),
    make_rule(
        "behind-pools-oom",
        "cuda_graph_oom",
        _OUT,
        pattern=_OUT_PATTERN,
        stages=_POOL,
        when=_is_behind_pools,
        words="workspaces and graphs found no room behind the pools",
        sample=_OOM,
    ),
    make_rule(
        "pool-oom",
        "pool_budget_negative",
        _OUT,
        pattern=_OUT_PATTERN,
        stages=_POOL,
        direction="leave",
        words="a pool was sized, and then couldn't be allocated: less was free than SGLang had measured",
        sample=_OOM,
    ),
    make_rule(
        "serving-oom",
        "activation_oom",
        _OUT,
        pattern=_OUT_PATTERN,
        stages=_SERVING,
        words="it ran out of GPU memory while computing a batch: the pools leave too little for activations",
        sample=_OOM,
    ),
)
