"""What a rank does from its first line to the summary: distributed init, weights, pools, graphs, perhaps a draft."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path

from tui.simulator import graphs
from tui.simulator.graphs import Capture, Kind
from tui.simulator.log import Log, progress
from tui.simulator.memory import GIB, MIB, Device, OutOfMemoryError
from tui.simulator.pools import Memory, Pools, size_pools
from tui.simulator.ranks import Rank, gpus_per_replica
from tui.simulator.setup import Context, Setup

_CONTEXT_BYTES = 700 * MIB  # CUDA's own, taken by every process that computes
_NCCL_BYTES = 1024 * MIB  # communicators, with more than one rank
_LOAD_OVERHEAD_BYTES = 64 * MIB
_WORKSPACE_BYTES = 512 * MIB
_LOAD_STEPS = 16  # memory grows smoothly, also with a single shard
_INIT_S, _LOAD_S, _POOL_S = 0.6, 4.5, 0.5
_SHARD_BAR = "Multi-thread loading shards: {percent:3d}% Completed | {done}/{total} [{timing}]"


class DistributedError(Exception):
    """NCCL didn't come up."""


class DownloadError(Exception):
    """The model's files can't be had."""


@dataclass(slots=True)
class Outcome:
    """What a rank reports when it is ready; sizes in bytes, times in seconds.

    Attributes:
        scheduler_pids: told by a controller alone, of those below it.
    """

    pools: Pools
    weights_bytes: int
    available_bytes: int
    timings: dict[str, float] = field(default_factory=dict)
    graph_bytes: dict[str, int] = field(default_factory=dict)
    scheduler_pids: list[int | None] = field(default_factory=list)


def log_tokenizer(setup: Setup, log: Log) -> None:
    """What 0.5.11 says whenever a process loads a generic tokenizer."""
    if setup.is_old:
        path = setup.args["tokenizer_path"]
        log.line(f"Tokenizer loaded as generic TokenizersBackend for {path}, retrying with use_fast=False")
        log.line(f"Loading tokenizer for {path} directly as PreTrainedTokenizerFast (bypassing AutoTokenizer)")
        log.line(
            f"Tokenizer for {path} loaded as generic TokenizersBackend. Set --trust-remote-code to load the "
            "model-specific tokenizer."
        )


class Startup:
    """The start of one rank."""

    def __init__(self, context: Context, rank: Rank, device: Device) -> None:
        self._setup = context.setup
        self._args = context.setup.args
        self._model = context.setup.model
        self._rank = rank
        self._gpus = gpus_per_replica(context.setup.args)
        self._device = device
        self._clock = context.clock
        self._log = context.log
        self._switches = context.switches
        self._timings: dict[str, float] = {}
        self._graph_bytes: dict[str, int] = {}

    def run(self) -> Outcome:
        """Go through all stages.

        Raises:
            DistributedError, DownloadError, OutOfMemoryError, PoolError, CaptureError: as the real ones end.
        """
        started = time.monotonic()
        log_tokenizer(self._setup, self._log)
        self._init_distributed()
        before = self._device.available_bytes()
        loaded = self._load(self._model.architecture, self._model.weights_bytes // self._gpus, self._model.shards)
        if self._has_draft and not self._setup.is_old:
            self._load_draft()
        pools = self._make_pools(before)
        self._capture_graphs()
        if self._has_draft and self._setup.is_old:
            self._load_draft()
        if self._has_draft:
            self._start_draft(pools)
        self._timings["scheduler_e2e"] = time.monotonic() - started
        available = self._device.available_bytes()
        log_tokenizer(self._setup, self._log)
        self._summarize(pools, available)
        return Outcome(pools, loaded, available, self._timings, self._graph_bytes)

    @property
    def _has_draft(self) -> bool:
        return bool(self._args["speculative_algorithm"]) and self._model.draft is not None

    def _init_distributed(self) -> None:
        old = self._setup.is_old
        self._log.line("Init torch distributed begin." if old else "Init parallel begin.")
        self._device.allocate(_CONTEXT_BYTES)
        started, free = time.monotonic(), self._device.available_bytes()
        if self._switches.strike("distributed init"):
            raise DistributedError(
                "NCCL error: remote process exited or there was a network error, NCCL version 2.27.3"
            )
        if self._gpus > 1:
            self._device.allocate(_NCCL_BYTES)
        self._clock.pause(_INIT_S)
        elapsed = time.monotonic() - started
        usage = (free - self._device.available_bytes()) / GIB
        if old:
            self._log.line(f"Init torch distributed ends. elapsed={elapsed:.2f} s, mem usage={usage:.2f} GB")
        else:
            self._log.line(f"Init parallel ends. elapsed={elapsed:.2f} s")
            self._log.line(f"Memory baseline taken. mem usage={usage:.2f} GB")

    def _load(self, architecture: str, size_bytes: int, shards: int) -> int:
        free = self._device.available_bytes()
        self._log.line(f"Load weight begin. avail mem={free / GIB:.2f} GB")
        started = time.monotonic()
        if self._model.state is not None:
            self._log.line("using attn output gate!")
        self._download()
        self._load_shards(size_bytes, shards)
        self._device.allocate(_LOAD_OVERHEAD_BYTES)
        elapsed, left = time.monotonic() - started, self._device.available_bytes()
        self._timings["load_weight"] = self._timings.get("load_weight", 0.0) + elapsed
        self._log.line(
            f"Load weight end. elapsed={elapsed:.2f} s, type={architecture}, avail mem={left / GIB:.2f} GB, "
            f"mem usage={(free - left) / GIB:.2f} GB."
        )
        return free - left

    def _download(self) -> None:
        """Only where it is to go wrong: every other server has its model. SGLang hides the hub's progress bars."""
        if not self._rank.is_first or "download" not in (self._switches.fail, self._switches.hang):
            return
        folder = "models--" + self._args["model_path"].replace("/", "--")
        self._log.line(
            f"Local HF snapshot at {Path.home()}/.cache/huggingface/hub/{folder}/snapshots/main has no files matching "
            "['*.safetensors', '*.bin', '*.pt']; will attempt download."
        )
        self._log.line("Using model weights format ['*.safetensors']")
        if self._switches.strike("download"):
            raise DownloadError

    def _load_shards(self, size_bytes: int, shards: int) -> None:
        if not self._rank.is_first:
            for shard in range(shards):
                self._load_shard(size_bytes, shards, shard)
            return
        with progress(self._log, shards, _SHARD_BAR) as bar:
            for shard in range(shards):
                self._load_shard(size_bytes, shards, shard)
                bar.draw(shard + 1)

    def _load_shard(self, size_bytes: int, shards: int, shard: int) -> None:
        if shard >= shards // 2 and self._switches.strike("weight load"):
            raise OutOfMemoryError(self._device.describe_shortage(size_bytes // shards))
        steps = max(1, _LOAD_STEPS // shards)
        for _ in range(steps):
            self._device.allocate(size_bytes // shards // steps)
            self._clock.pause(_LOAD_S / shards / steps)

    def _load_draft(self) -> None:
        draft = self._model.draft
        if draft is not None:
            self._load(draft.architecture, int(draft.weights_gib * GIB) // self._gpus, 1)

    def _make_pools(self, before_bytes: int) -> Pools:
        started = time.monotonic()
        if self._setup.is_old and self._rank.tp == 0:
            self._log.line(f"Using KV cache dtype: {self._kv_dtype()}")
        args = {**self._args, "mem_fraction_static": 1e-05} if self._switches.strike("memory pool") else self._args
        memory = Memory(before_bytes, self._device.available_bytes())
        pools = size_pools(self._model, args, memory, self._setup.release)
        self._allocate_state(pools)
        self._allocate_kv(pools.tokens, pools.kv_bytes)
        self._clock.pause(_POOL_S)
        self._log.line(f"Memory pool end. avail mem={self._device.available_gib():.2f} GB")
        self._timings["kv_cache_allocation"] = time.monotonic() - started
        self._device.allocate(_WORKSPACE_BYTES)
        self._describe_state_kernels()
        return pools

    def _kv_dtype(self) -> str:
        name = self._args["kv_cache_dtype"]
        known = {"fp8_e4m3": "float8_e4m3fn", "fp8_e5m2": "float8_e5m2"}
        return f"torch.{known.get(name, 'bfloat16')}"

    def _allocate_state(self, pools: Pools) -> None:
        state = pools.state
        if state is None:
            return
        self._device.allocate(state.total_bytes)
        draft = ""
        if state.draft_ssm_bytes:
            draft = (
                f"intermediate_ssm_state_cache size: {state.draft_ssm_bytes / GIB:.2f}GB "
                f"intermediate_conv_window_cache size: {state.draft_conv_bytes / GIB:.2f}GB "
            )
        self._log.line(
            f"Mamba Cache is allocated. max_mamba_cache_size: {state.slots}, conv_state size: "
            f"{state.conv_bytes / GIB:.2f}GB, ssm_state size: {state.ssm_bytes / GIB:.2f}GB {draft}"
        )

    def _allocate_kv(self, tokens: int, size_bytes: int) -> None:
        self._device.allocate(size_bytes)
        dtype = "" if self._setup.is_old else f"dtype: {self._kv_dtype()}, "
        half = size_bytes / 2 / GIB
        self._log.line(f"KV Cache is allocated. {dtype}#tokens: {tokens}, K size: {half:.2f} GB, V size: {half:.2f} GB")

    def _describe_state_kernels(self) -> None:
        if self._model.state is None:
            return
        verify = "" if self._setup.is_old else ", verify=triton"
        self._log.line(f"Linear attention kernel backend: decode=triton, prefill=triton{verify}")
        self._log.line("Using hybrid linear attention backend for hybrid GDN models.")
        self._log.line(
            "GDN kernel dispatcher: decode=TritonGDNKernel, extend=TritonGDNKernel, verify=TritonGDNKernel "
            "packed_decode=False"
        )

    def _capture_graphs(self) -> None:
        if self._setup.is_old:
            self._capture_0511()
        else:
            self._capture_0523()

    def _capture_0511(self) -> None:
        batches = self._setup.graph_batches
        if not self._args["disable_cuda_graph"]:
            self._capture("decode", graphs.DECODE_0511, batches)
        if self._args["disable_piecewise_cuda_graph"]:
            self._log.line("Disable piecewise CUDA graph because --disable-piecewise-cuda-graph is set")
        else:
            self._capture("prefill", graphs.PIECEWISE_0511, self._args["piecewise_cuda_graph_tokens"])

    def _capture_0523(self) -> None:
        config = self._args["cuda_graph_config"]
        if config["prefill"]["backend"] == "disabled":
            self._log.line(
                "Disable prefill CUDA graph because cuda_graph_config resolved prefill.backend='disabled' "
                "(e.g. via --cuda-graph-backend-prefill=disabled or auto-disable rules)."
            )
        else:
            self._capture("prefill", graphs.PREFILL_0523, config["prefill"]["bs"])
        if config["decode"]["backend"] != "disabled":
            name, kind = ("target_verify", graphs.VERIFY_0523) if self._has_draft else ("decode", graphs.DECODE_0523)
            self._capture(name, kind, config["decode"]["bs"], self._tokens_per_request())

    def _tokens_per_request(self) -> int:
        return (self._args["speculative_num_draft_tokens"] or 4) if self._has_draft else 1

    def _capture(self, name: str, kind: Kind, sizes: list[int], tokens_per_request: int = 1) -> None:
        capture = Capture(self._device, self._log, self._clock, self._rank.is_first, self._strike_capture)
        seconds, size_bytes = capture.run(kind, sizes, tokens_per_request)
        self._timings[name], self._graph_bytes[name] = seconds, size_bytes

    def _strike_capture(self) -> None:
        if self._switches.strike("cuda graph capture"):
            raise OutOfMemoryError(self._device.describe_shortage(672 * MIB))

    def _start_draft(self, pools: Pools) -> None:
        draft = self._model.draft
        if draft is None:
            return
        self._allocate_kv(pools.tokens, pools.tokens * draft.kv_bytes_per_token // self._gpus)
        self._device.free(int(draft.shared_gib * GIB) // self._gpus)
        self._log.line(f"Memory pool end. avail mem={self._device.available_gib():.2f} GB")
        if not self._args["disable_cuda_graph"]:
            kind = graphs.DRAFT_0511 if self._setup.is_old else graphs.DRAFT_0523
            self._capture("draft_decode", kind, self._setup.graph_batches)

    def _summarize(self, pools: Pools, available_bytes: int) -> None:
        context = self._args["context_length"] or self._model.context_length
        if self._rank.tp == 0:
            self._log.line(
                f"max_total_num_tokens={pools.tokens}, chunked_prefill_size={self._args['chunked_prefill_size']}, "
                f"max_prefill_tokens={self._args['max_prefill_tokens']}, max_running_requests="
                f"{pools.max_running_requests}, context_len={context}, available_gpu_mem={available_bytes / GIB:.2f} GB"
            )
        if not self._setup.is_old:
            self._describe_tree_cache()

    def _describe_tree_cache(self) -> None:
        hybrid = self._model.state is not None
        mamba = ", <ComponentType.MAMBA: 2>" if hybrid else ","
        self._log.line(
            f"Init Unified Radix Cache. Components: (<ComponentType.FULL: 0>{mamba}). Tree Core: RustUnifiedTreeCore"
        )
        self._log.line(
            f"Tree cache initialized: source=default impl=UnifiedRadixCache hybrid_swa=False hybrid_ssm={hybrid} "
            "hicache_attached=False"
        )
