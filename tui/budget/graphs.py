"""Which CUDA graphs are captured: for decoding (by requests) and for prefill (by tokens).

Sources: SGLang 0.5.11 server_args.py:1186 (_handle_piecewise_cuda_graph), 1492, 1540; 0.5.23
arg_groups/cuda_graph_hook.py, memory_hook.py:60.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from tui.budget.card_defaults import CardDefaults
from tui.budget.parallel import Parallel
from tui.budget.prefill_graphs import captures_prefill
from tui.budget.refusal import RefusedLaunch
from tui.budget.types import PlanRequest
from tui.model.shapes import Latent
from tui.sglang.parse import Flags

_LATENT_LIMIT, _LATENT_LIMIT_LATER = 2048, 8192
_LLAMA2_LIMIT = 4096


class Graphs(Struct, frozen=True):
    """Sizes that are captured.

    Attributes:
        largest_batch: of decode graphs; counted in the automatic fraction even where no graph is captured.
        decode: requests of each decode graph; empty when they are off.
        prefill: tokens of each prefill graph; empty when they are off.
    """

    largest_batch: int
    decode: tuple[int, ...]
    prefill: tuple[int, ...]

    @property
    def largest_prefill(self) -> int:
        """Tokens of the largest prefill graph, or 0."""
        return max(self.prefill, default=0)


def clamp_prefill(graphs: Graphs, chunk: int, flags: Flags) -> Graphs:
    """With DP attention the chunk shrinks after graphs were chosen; untyped prefill sizes follow (0.5.17 on)."""
    typed = flags.get("cuda-graph-max-bs-prefill", "cuda-graph-bs-prefill", "cuda-graph-config")
    if typed is not None or chunk <= 0 or graphs.largest_prefill <= chunk:
        return graphs
    return replace(graphs, prefill=tuple(prefill_sizes(chunk)))


def resolve_graphs(request: PlanRequest, parallel: Parallel, defaults: CardDefaults, chunk: int) -> Graphs:
    """The graphs of a launch; `chunk` is the resolved size of a prefill chunk.

    Raises:
        RefusedLaunch: a size is absurd.
    """
    flags = request.flags
    decode = _phase(flags.get("cuda-graph-config"), "decode")
    typed = decode.get("bs") or flags.get("cuda-graph-bs-decode", "cuda-graph-bs")
    largest = decode.get("max_bs") or flags.get("cuda-graph-max-bs-decode", "cuda-graph-max-bs")
    largest = max(typed) if typed else largest or _default_batch(request, defaults)
    if largest < 1:
        raise RefusedLaunch(f"the largest decode graph is for {largest} requests, but must be for at least 1")
    sizes: tuple[int, ...] = ()
    if _captures_decode(request, decode):
        speculates = flags.get("speculative-algorithm") is not None
        sizes = tuple(typed or decode_sizes(largest, speculates=speculates, adds_largest=request.rules.adds_largest))
    return Graphs(largest, sizes, _prefill(request, parallel, chunk))


def _phase(config: Any, phase: str) -> dict[str, Any]:
    value = config.get(phase) if isinstance(config, dict) else None
    return value if isinstance(value, dict) else {}


def _default_batch(request: PlanRequest, defaults: CardDefaults) -> int:
    requests: int | None = request.flags.get("max-running-requests")
    if request.rules.requests_cap_graphs and requests is not None:
        return min(defaults.largest_batch, requests)
    return defaults.largest_batch


def _captures_decode(request: PlanRequest, config: dict[str, Any]) -> bool:
    backend = config.get("backend") or request.flags.get("cuda-graph-backend-decode")
    if backend is not None:
        return bool(backend != "disabled")
    return not request.flags.has("disable-cuda-graph", "disable-decode-cuda-graph")


def decode_sizes(largest: int, *, speculates: bool, adds_largest: bool = True) -> list[int]:
    """Requests for which decode graphs are captured, up to `largest`; with it even where it is no step."""
    if speculates:
        steps = [*range(1, 9), *range(10, 33, 2), *range(40, 65, 4), *range(72, 257, 8), *range(272, largest + 1, 16)]
    else:
        steps = [1, 2, 4, 8, 12, *range(16, 257, 8), *range(272, 512, 16), *range(512, largest + 1, 32)]
    sizes = [size for size in steps if size <= largest]
    return sizes if largest in sizes or not adds_largest else [*sizes, largest]


def prefill_sizes(largest: int) -> list[int]:
    """Tokens for which prefill graphs are captured, up to `largest`."""
    steps = [
        *range(4, 33, 4),
        *range(48, 257, 16),
        *range(288, 513, 32),
        *range(576, 1025, 64),
        *range(1280, 4097, 256),
        *range(4608, largest + 1, 512),
    ]
    return [size for size in steps if size <= largest]


def _prefill(request: PlanRequest, parallel: Parallel, chunk: int) -> tuple[int, ...]:
    flags = request.flags
    config = _phase(flags.get("cuda-graph-config"), "prefill")
    backend = config.get("backend") or flags.get("cuda-graph-backend-prefill")
    if backend == "disabled" or (backend is None and not captures_prefill(request, parallel)):
        return ()
    typed = config.get("bs") or flags.get("cuda-graph-bs-prefill", "piecewise-cuda-graph-tokens")
    if typed:
        return tuple(typed)
    largest = config.get("max_bs") or flags.get("cuda-graph-max-bs-prefill", "piecewise-cuda-graph-max-tokens")
    return tuple(prefill_sizes(largest or _largest_prefill(request, chunk)))


def _largest_prefill(request: PlanRequest, chunk: int) -> int:
    flags, rules = request.flags, request.rules
    if rules.opt_in_limit is not None:
        return rules.opt_in_limit
    largest = chunk
    if isinstance(request.model.attention.full, Latent):
        largest = min(_LATENT_LIMIT_LATER, chunk) if rules.latent_graphs_follow_chunk else _LATENT_LIMIT
    limits = [flags.get("max-total-tokens")]
    if rules.prefill_cap_by_context:
        limits.append(flags.get("context-length"))
    if "llama-2" in request.model.name.lower():
        limits.append(_LLAMA2_LIMIT)
    return min([largest, *(int(limit) for limit in limits if limit is not None)])
