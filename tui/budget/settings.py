"""What a server will run with: flags as typed, completed by what the release chooses for this model and card."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from tui.budget.backend import Backend, resolve_backend
from tui.budget.card_defaults import card_defaults
from tui.budget.fraction import Workload, automatic_fraction
from tui.budget.graphs import Graphs, clamp_prefill, resolve_graphs
from tui.budget.kv_cells import KvDtype
from tui.budget.parallel import Parallel, read_parallel
from tui.budget.pipeline import stage_layers
from tui.budget.refusal import CannotTell, RefusedLaunch
from tui.budget.speculation import Speculation, read_speculation
from tui.budget.strategy import NO_BUFFER, StateStrategy, resolve_strategy
from tui.budget.types import PlanRequest
from tui.model.shapes import Attention, Latent
from tui.sglang.defaults import SPECULATIVE_REQUESTS

_DTYPE_BYTES = {"float32": 4, "float": 4, "bfloat16": 2, "float16": 2, "half": 2}
_KV_DTYPES = {"fp8_e5m2": 1, "fp8_e4m3": 1, "bf16": 2, "bfloat16": 2}
_BLACKWELL = 10
_SWA_RATIO = 0.8


class Settings(Struct, frozen=True):
    """Resolved.

    Attributes:
        stages: layers of each pipeline stage.
        strategy: of a hybrid model, else None.
        chunk: tokens of a prefill chunk on one attention replica; -1 where prefill isn't cut.
        requests: `max_running_requests` for one attention replica; None where only the memory limits them.
        sliding: sliding-window layers get a pool of their own.
        defaults_requests: the number of requests is SGLang's silent default with speculation.
    """

    parallel: Parallel
    stages: tuple[range, ...]
    speculation: Speculation | None
    strategy: StateStrategy | None
    backend: Backend
    graphs: Graphs
    kv_dtype: KvDtype
    dtype_bytes: int
    fraction: float
    fraction_is_typed: bool
    chunk: int
    requests: int | None
    defaults_requests: bool
    context_length: int
    sliding: bool
    sliding_ratio: float


def resolve_settings(request: PlanRequest) -> Settings:
    """Complete the flags.

    Raises:
        RefusedLaunch: SGLang refuses them.
        CannotTell: they ask for something that isn't modelled.
    """
    flags = request.flags
    parallel = read_parallel(flags)
    speculation = read_speculation(request)
    backend = resolve_backend(request)
    strategy = None
    if request.model.state is not None:
        strategy = resolve_strategy(request, speculation, backend, pipelined=parallel.pipeline > 1)
        backend = _settle_pages(request, strategy, backend)
    _refuse_trees(request, speculation, backend)
    defaults = card_defaults(request.smallest_total_mib, parallel.tensor, request.rules)
    chunk = flags.get("chunked-prefill-size") or defaults.chunked_prefill_size
    graphs = resolve_graphs(request, parallel, defaults, chunk)
    typed = flags.get("mem-fraction-static")
    if typed is not None and not 0 < typed < 1:
        raise RefusedLaunch(f"--mem-fraction-static is {typed:g}, but is a share: it must be above 0 and below 1")
    fraction = automatic_fraction(request, Workload(parallel, graphs, speculation, chunk)) if typed is None else typed
    share = chunk // parallel.attention_dp if chunk > 0 else chunk
    return Settings(
        parallel=parallel,
        stages=tuple(stage_layers(request.model.num_layers, parallel.pipeline, request.environment)),
        speculation=speculation,
        strategy=strategy,
        backend=backend,
        graphs=clamp_prefill(graphs, share, flags) if parallel.attention_dp > 1 else graphs,
        kv_dtype=_kv_dtype(request),
        dtype_bytes=_DTYPE_BYTES[_model_dtype(request)],
        fraction=fraction,
        fraction_is_typed=typed is not None,
        chunk=share,
        requests=_requests(request, parallel, speculation),
        defaults_requests=flags.get("max-running-requests") is None and speculation is not None,
        context_length=_context_length(request),
        sliding=_has_sliding_pool(request, request.model.attention),
        sliding_ratio=_sliding_ratio(request),
    )


def _settle_pages(request: PlanRequest, strategy: StateStrategy, backend: Backend) -> Backend:
    """From 0.5.11 to 0.5.13 states that no_buffer keeps in the radix cache make pages of 1."""
    keeps = strategy.radix_cache and strategy.name == NO_BUFFER and request.release.includes("0.5.11")
    return replace(backend, page_size=1) if keeps else backend


def _refuse_trees(request: PlanRequest, speculation: Speculation | None, backend: Backend) -> None:
    """A tree of drafts needs pages of 1, with most backends (0.5.6.post2 server_args.py:1853, 0.5.11:3590)."""
    if speculation is None or speculation.topk <= 1:
        return
    if backend.name == "trtllm_mha" and speculation.algorithm != "NGRAM":
        error = "trtllm_mha backend only supports topk = 1 for speculative decoding."
        raise RefusedLaunch("trtllm_mha takes chains of drafts only: set --speculative-eagle-topk 1", error)
    paged = ["flashinfer"]
    if speculation.algorithm != "NGRAM":
        paged += ["fa3", "triton"] if request.release.includes("0.5.13") else ["fa3"]
    if backend.page_size > 1 and backend.name not in paged:
        raise RefusedLaunch(
            f"top-k {speculation.topk} doesn't go with pages of {backend.page_size} in {backend.name}",
            f"speculative_eagle_topk({speculation.topk}) > 1 with page_size({backend.page_size}) > 1 is unstable",
        )


def _requests(request: PlanRequest, parallel: Parallel, speculation: Speculation | None) -> int | None:
    asked: int | None = request.flags.get("max-running-requests")
    if asked is not None and asked < 1:
        raise RefusedLaunch(f"--max-running-requests is {asked}, but must be at least 1", "max_running_request is zero")
    if asked is None:
        if speculation is None or not speculation.limits_requests:
            return None
        asked = SPECULATIVE_REQUESTS
    share = asked // parallel.attention_dp
    return max(1, share) if request.rules.one_request_at_least else share


def _context_length(request: PlanRequest) -> int:
    typed: int | None = request.flags.get("context-length")
    if typed is not None and typed < 1:
        raise RefusedLaunch(f"--context-length is {typed}, but must be at least 1")
    return request.model.context_length if typed is None else typed


def _model_dtype(request: PlanRequest) -> str:
    typed: str | None = request.flags.get("dtype")
    name = request.model.dtype if typed in (None, "auto") else str(typed)
    if name not in _DTYPE_BYTES:
        raise CannotTell(f"dtype {name} isn't known here")
    return name


def _kv_dtype(request: PlanRequest) -> KvDtype:
    name: str = request.flags.get("kv-cache-dtype") or "auto"
    if name == "auto":
        name = _automatic_kv_dtype(request)
    if name in _KV_DTYPES:
        return KvDtype(name, _KV_DTYPES[name])
    if name in _DTYPE_BYTES:
        return KvDtype(name, _DTYPE_BYTES[name])
    raise CannotTell(f"a KV cache of {name} isn't modelled: its scales depend on the attention backend")


def _automatic_kv_dtype(request: PlanRequest) -> str:
    model = request.model
    if isinstance(model.attention.full, Latent) and model.attention.full.index_head_dim is not None:
        is_blackwell = request.capability is not None and request.capability[0] >= _BLACKWELL
        if request.release.includes("0.5.8"):
            return "fp8_e4m3" if is_blackwell else "bfloat16"
    if model.quantization is not None and model.quantization.kv_cache_fp8:
        return "fp8_e4m3"
    return _model_dtype(request)


def _has_sliding_pool(request: PlanRequest, attention: Attention) -> bool:
    if not attention.sliding_layers or request.flags.has("disable-hybrid-swa-memory"):
        return False
    return attention.pooled_since is None or request.release.includes(attention.pooled_since)


def _sliding_ratio(request: PlanRequest) -> float:
    ratio: float | None = request.flags.get("swa-full-tokens-ratio")
    if ratio is not None and not 0 < ratio <= 1:
        raise RefusedLaunch(f"--swa-full-tokens-ratio is {ratio:g}, but must be above 0 and at most 1")
    return _SWA_RATIO if ratio is None else ratio
