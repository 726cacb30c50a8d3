"""What lives beside the static pools: tables, workspace, CUDA graphs, activations. Estimated, with honest ranges.

Sources: SGLang 0.5.11 mem_cache/memory_pool.py (ReqToTokenPool), layers/attention/flashinfer_backend.py:173, 0.5.23
layers/attention/flashinfer_backend.py:431. Sizes of graphs and activations come from public logs; none was measured.
"""

from __future__ import annotations

from tui.budget.pools import Pools, Shapes
from tui.budget.settings import Settings
from tui.budget.types import Basis, BudgetItem, PlanRequest
from tui.model.shapes import Latent
from tui.units import GIB, MIB

_INDEX_BYTES = 4
_SCORE_BYTES = 4
_SPARE_COLUMNS = 4
_LOGIT_BYTES = 6  # float32 and the model's own two bytes
_WIDE_WORKSPACE = frozenset(
    {
        "Qwen2ForCausalLM",
        "Qwen3ForCausalLM",
        "MiMoForCausalLM",
        "Qwen3VLForConditionalGeneration",
        "Qwen3VLMoeForConditionalGeneration",
    }
)
_WORKSPACE_MIB, _WIDE_WORKSPACE_MIB, _DETERMINISTIC_MIB = 384, 512, 2048
_WORKSPACES = {"trtllm_mha": 512, "trtllm_mla": 150}
# Decode graphs: a share for their pool, and MiB a captured size for a model of 48 layers.
_GRAPH_POOL, _MIB_A_SIZE, _LAYERS = int(0.25 * GIB), 12, 48
_DRAFT_GROWTH = 0.5  # each further draft token widens a verify graph by half
_DRAFT_GRAPH_SHARE = 0.35
# Prefill graphs: MiB a size, compiled piecewise (up to 0.5.14) or captured in segments.
_PIECEWISE_MIB, _SEGMENTED_MIB = 15, 45
# Hidden vectors alive for each token of a chunk: expected, few, many. A mixture of experts copies each token to all
# experts that were chosen for it, and back.
_DENSE_WIDTHS, _EXPERT_WIDTHS = (14, 7, 40), (30, 10, 100)
_LATER_KERNELS, _LATER_KERNELS_HIGH = int(0.1 * GIB), int(0.5 * GIB)


def request_table(request: PlanRequest, settings: Settings, pools: Pools) -> BudgetItem:
    """The table of each running request's tokens: int32, a row a request."""
    drafts = settings.speculation.draft_tokens if settings.speculation else 0
    rows = pools.requests + (1 if request.release.includes("0.5.11") else 0)
    size = rows * (settings.context_length + _SPARE_COLUMNS + drafts) * _INDEX_BYTES
    words = f"{rows} requests x {settings.context_length} tokens x 4 bytes"
    return BudgetItem("request table", size, size, size, Basis.EXACT, words)


def workspace(request: PlanRequest, settings: Settings) -> BudgetItem | None:
    """The attention backend's scratch; None for those that have none."""
    name = settings.backend.name
    if name in _WORKSPACES:
        mib = _WORKSPACES[name]
    elif name != "flashinfer":
        return None
    elif request.flags.has("enable-deterministic-inference"):
        mib = _DETERMINISTIC_MIB
    else:
        mib = _WIDE_WORKSPACE_MIB if request.model.architecture in _WIDE_WORKSPACE else _WORKSPACE_MIB
    size = mib * MIB
    return BudgetItem("attention workspace", size, size, size, Basis.EXACT, f"{name} takes {mib} MiB")


def captured_sizes(settings: Settings, requests: int) -> list[int]:
    """Decode graphs that are captured in the end: none for more requests than can run (cuda_graph_runner.py)."""
    sizes = [size for size in settings.graphs.decode if size <= requests]
    cut = len(sizes) < len(settings.graphs.decode)
    return [*sizes, requests] if cut and requests not in sizes else sizes


def decode_graphs(request: PlanRequest, settings: Settings, requests: int) -> BudgetItem | None:
    """Graphs of the target for decoding, or for verifying drafts."""
    sizes = captured_sizes(settings, requests)
    if not sizes:
        return None
    drafts = settings.speculation.draft_tokens if settings.speculation else 1
    growth = 1 + _DRAFT_GROWTH * (drafts - 1)
    body = len(sizes) * _MIB_A_SIZE * MIB * request.model.num_layers / _LAYERS * growth
    logits = max(sizes) * drafts * request.model.vocab_size * _LOGIT_BYTES
    size = int(_GRAPH_POOL + body + logits)
    words = f"{len(sizes)} sizes up to {max(sizes)} requests" + (f" x {drafts} draft tokens" if drafts > 1 else "")
    return BudgetItem("decode graphs", size, size * 3 // 10, size * 5 // 2, Basis.ESTIMATED, words)


def prefill_graphs(request: PlanRequest, settings: Settings) -> BudgetItem | None:
    """Graphs for prefill chunks."""
    sizes = settings.graphs.prefill
    if not sizes:
        return None
    each = _SEGMENTED_MIB if request.release.includes("0.5.15") else _PIECEWISE_MIB
    size = int(len(sizes) * each * MIB * request.model.num_layers / _LAYERS)
    words = f"{len(sizes)} sizes up to {max(sizes)} tokens"
    return BudgetItem("prefill graphs", size, size // 2, size * 8 // 5, Basis.ESTIMATED, words)


def draft_graphs(request: PlanRequest, settings: Settings, requests: int) -> BudgetItem | None:
    """Graphs of the draft model."""
    target = decode_graphs(request, settings, requests)
    if target is None or settings.speculation is None or not settings.speculation.has_draft_model:
        return None
    size = int(target.size * _DRAFT_GRAPH_SHARE)
    words = f"about {_DRAFT_GRAPH_SHARE:.0%} of the target's"
    return BudgetItem("draft graphs", size, size * 3 // 10, size * 5 // 2, Basis.ESTIMATED, words)


def draft_cache(pools: Pools, shapes: Shapes, page_size: int) -> BudgetItem:
    """The draft model's own KV cache: as many tokens as the target's, in its few layers."""
    size = (pools.tokens.tokens + page_size) * shapes.draft_token_bytes
    words = f"{pools.tokens.tokens} tokens x {shapes.draft_token_bytes} bytes"
    return BudgetItem("draft KV cache", size, size, size, Basis.EXACT, words)


def activations(request: PlanRequest, settings: Settings) -> BudgetItem:
    """What a full prefill chunk needs while it runs."""
    tokens = settings.chunk if settings.chunk > 0 else request.flags.get("max-prefill-tokens") or 16384
    vector = tokens * request.model.hidden_size * settings.dtype_bytes
    size, low, high = _DENSE_WIDTHS if request.model.experts is None else _EXPERT_WIDTHS
    words = f"a prefill chunk of {tokens} tokens; about {size} hidden vectors each"
    return BudgetItem("activations", vector * size, vector * low, vector * high, Basis.ESTIMATED, words)


def index_scratch(request: PlanRequest, settings: Settings, requests: int) -> BudgetItem | None:
    """Scores of every cached token that a sparse-attention indexer computes, in decode graphs (dsa_indexer.py)."""
    attention, sizes = request.model.attention.full, captured_sizes(settings, requests)
    if not isinstance(attention, Latent) or attention.index_head_dim is None or not sizes:
        return None
    drafts = settings.speculation.draft_tokens if settings.speculation else 1
    size = max(sizes) * drafts * settings.context_length * _SCORE_BYTES
    words = f"{max(sizes) * drafts} rows x {settings.context_length} tokens x {_SCORE_BYTES} bytes, once to four times"
    return BudgetItem("sparse index scores", size, 0, size * 4, Basis.ESTIMATED, words)


def later_kernels() -> BudgetItem:
    """Kernels that are loaded when they are first used."""
    return BudgetItem(
        "kernels loaded later", _LATER_KERNELS, 0, _LATER_KERNELS_HIGH, Basis.ESTIMATED, "up to 0.5 GiB in logs"
    )
