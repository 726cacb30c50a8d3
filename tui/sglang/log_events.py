"""What single SGLang log lines say: one frozen value a kind of line.

SGLang prints 2**30 bytes as "GB", so every such figure is named `_gib` here. A figure is None where the release that
printed the line didn't give it. Memory figures can be negative (a loader gave back more than it took).
"""

from __future__ import annotations

from msgspec import Struct

# --- the main process starts


class ServerArgsLogged(Struct, frozen=True):
    """`server_args=...`: the arguments are settled; from here on the children start.

    Attributes:
        as_dict: printed as a dict (0.5.23) rather than as `ServerArgs(...)`.
    """

    as_dict: bool


class ArgparseError(Struct, frozen=True):
    """The command line was refused; `text` is argparse's sentence without the program's name."""

    text: str


class FetchProgress(Struct, frozen=True):
    """`Fetching N files`: the Hugging Face hub's bar over the files of a model."""

    done: int
    total: int


# --- a rank sets up its GPU


class DistributedInitBegin(Struct, frozen=True):
    """`Init torch distributed begin` (0.5.23: `Init parallel begin`)."""


class DistributedInitEnd(Struct, frozen=True):
    """`Init torch distributed ends` (0.5.23: `Init parallel ends`), with what NCCL and the CUDA context took."""

    elapsed_s: float | None
    usage_gib: float | None


class MemoryBaseline(Struct, frozen=True):
    """`Memory baseline taken` (0.5.23): where the older releases' `usage_gib` of the distributed init went."""

    usage_gib: float


class LoadWeightBegin(Struct, frozen=True):
    """`Load weight begin`; once for the target model and once for each draft model."""

    avail_gib: float


class ShardProgress(Struct, frozen=True):
    """The bar over checkpoint shards: "Loading ... checkpoint shards", "Multi-thread loading ... shards"."""

    done: int
    total: int


class LoadWeightEnd(Struct, frozen=True):
    """`Load weight end`.

    Attributes:
        model_class: the class that runs the model, e.g. `Qwen3ForCausalLM`.
        avail_gib: free after the load.
        usage_gib: free before minus free after.
        quant: the method and its details as printed, e.g. `modelopt_fp4, quant_algo=NVFP4`.
    """

    model_class: str
    avail_gib: float
    usage_gib: float | None
    elapsed_s: float | None
    dtype: str | None
    quant: str | None


# --- pools


class MambaCache(Struct, frozen=True):
    """`Mamba Cache is allocated`: the state pool of a hybrid model.

    Attributes:
        slots: max_mamba_cache_size; None in releases before 0.5.6.
        intermediate_ssm_gib, intermediate_conv_gib: what speculative decoding adds; None without it.
    """

    slots: int | None
    conv_gib: float
    ssm_gib: float
    intermediate_ssm_gib: float | None
    intermediate_conv_gib: float | None


class KvCache(Struct, frozen=True):
    """`KV Cache is allocated`: K and V apart, or one figure for MLA models.

    Attributes:
        tokens: None in releases before 0.4.3.
        label: what stands before the words, e.g. `SWA` or `Full` (0.5.23); with sizing after the graph capture
            `draft` or None.
    """

    tokens: int | None
    k_gib: float | None
    v_gib: float | None
    kv_gib: float | None
    dtype: str | None
    label: str | None


class SlidingWindowPools(Struct, frozen=True):
    """`Use sliding window memory pool`: tokens of the full-attention and of the windowed layers."""

    full_tokens: int | None
    swa_tokens: int


class SwaKvPool(Struct, frozen=True):
    """`SWAKVPool mem usage`: both pools of a model with sliding windows together."""

    usage_gib: float
    swa_tokens: int
    full_tokens: int


class MemoryPoolEnd(Struct, frozen=True):
    """`Memory pool end`; once for the target model and once for each draft model."""

    avail_gib: float


class PoolSummary(Struct, frozen=True):
    """`max_total_num_tokens=...`: what the scheduler settled on, from tensor-parallel rank 0 alone."""

    max_total_num_tokens: int
    chunked_prefill_size: int | None
    max_prefill_tokens: int | None
    max_running_requests: int | None
    context_len: int | None
    available_gib: float | None


# --- graphs


class GraphCaptureBegin(Struct, frozen=True):
    """`Capture ... graph begin`.

    Attributes:
        kind: the words between, lower case: `cuda`, `piecewise cuda`, `target decode cuda`, `draft extend cuda`, `npu`.
    """

    kind: str
    avail_gib: float | None


class GraphCaptureEnd(Struct, frozen=True):
    """`Capture ... graph end`; `kind` as in GraphCaptureBegin."""

    kind: str
    elapsed_s: float | None
    usage_gib: float | None
    avail_gib: float | None


class GraphProgress(Struct, frozen=True):
    """The bar over the shapes being captured or compiled.

    Attributes:
        size: the batch size or number of tokens of the shape in hand.
        avail_gib: free memory just before it: the only live reading during the capture.
    """

    done: int
    total: int
    size: int
    avail_gib: float | None


# --- serving


class HttpListening(Struct, frozen=True):
    """`Uvicorn running on ...`. Not ready yet: the warm-up follows."""

    url: str


class BindError(Struct, frozen=True):
    """Uvicorn couldn't take its port; `text` is the reason with the address."""

    text: str


class Ready(Struct, frozen=True):
    """`The server is fired up and ready to roll!`. Also printed when another server answers on the port."""


class PrefillBatch(Struct, frozen=True):
    """`Prefill batch`.

    Attributes:
        new_seqs, new_tokens, cached_tokens: of this batch.
        running, queued: requests.
        token_usage: share of the KV pool in use, 0 to 1 (the full-attention pool where there are several).
        tokens_per_s: input throughput; None in 0.5.6.
        slot_usage: share of the state slots that running requests hold, 0 to 1; None for models without such a state.
    """

    new_seqs: int
    new_tokens: int
    cached_tokens: int
    running: int | None
    queued: int | None
    token_usage: float | None
    tokens_per_s: float | None
    slot_usage: float | None = None

    @property
    def is_health_probe(self) -> bool:
        """What `GET /health` causes: one new sequence of one token (so does a prompt of one token)."""
        return self.new_seqs == 1 and self.new_tokens == 1 and self.cached_tokens == 0


class DecodeBatch(Struct, frozen=True):
    """`Decode batch`, each 40 steps.

    Attributes:
        running, queued: requests.
        tokens: in the KV pool (the full-attention pool where there are several).
        token_usage: share of that pool, 0 to 1.
        tokens_per_s: generation throughput.
        accept_length: mean accepted draft tokens a step; None without speculative decoding.
        slot_usage: as in PrefillBatch.
    """

    running: int
    queued: int | None
    tokens: int | None
    token_usage: float | None
    tokens_per_s: float | None
    accept_length: float | None
    slot_usage: float | None = None


# --- the end


class Draining(Struct, frozen=True):
    """`SIGTERM received`: no new requests, the running ones are waited for."""


class GracefulExit(Struct, frozen=True):
    """`Gracefully exiting`, every 5 s until no request is left."""

    remaining: int


class HttpShutdown(Struct, frozen=True):
    """Uvicorn's `Shutting down`."""


class ProcessException(Struct, frozen=True):
    """`Scheduler hit an exception: Traceback ...`: the traceback follows in the next lines, and the process ends.

    Attributes:
        process: `Scheduler`, `DetokenizerManager`, `DataParallelController`, ...
    """

    process: str


class WarmupFailed(Struct, frozen=True):
    """`Initialization failed. warmup error: Traceback ...`: the traceback follows, and the server kills itself."""


class SigquitReceived(Struct, frozen=True):
    """A child told the main process that it failed. A consequence, never a cause."""


class ChildCrashed(Struct, frozen=True):
    """`Subprocess scheduler_0 (pid=...) crashed with exit code ...`; negative: the signal."""

    name: str
    pid: int
    exit_code: int


Event = (
    ServerArgsLogged
    | ArgparseError
    | FetchProgress
    | DistributedInitBegin
    | DistributedInitEnd
    | MemoryBaseline
    | LoadWeightBegin
    | ShardProgress
    | LoadWeightEnd
    | MambaCache
    | KvCache
    | SlidingWindowPools
    | SwaKvPool
    | MemoryPoolEnd
    | PoolSummary
    | GraphCaptureBegin
    | GraphCaptureEnd
    | GraphProgress
    | HttpListening
    | BindError
    | Ready
    | PrefillBatch
    | DecodeBatch
    | Draining
    | GracefulExit
    | HttpShutdown
    | ProcessException
    | WarmupFailed
    | SigquitReceived
    | ChildCrashed
)

UNSTAMPED = (ArgparseError, FetchProgress, ShardProgress, GraphProgress)
"""What is printed without SGLang's time stamp. All else counts only behind a stamp: prompts are echoed in logs."""
