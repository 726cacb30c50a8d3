"""`mem_fraction_static` where it isn't given: the card, less what SGLang keeps free for activations and graphs.

Sources: SGLang 0.5.6.post2 server_args.py:848, 0.5.11 server_args.py:1434 and 7125, 0.5.23
arg_groups/memory_hook.py:281-462. Run with the real resolution of 0.5.11 and 0.5.23: equal to the last digit.
"""

from __future__ import annotations

from msgspec import Struct

from tui.budget.fraction_early import early_fraction
from tui.budget.graphs import Graphs
from tui.budget.parallel import Parallel
from tui.budget.rules import Fraction
from tui.budget.speculation import Speculation
from tui.budget.types import PlanRequest
from tui.model.shapes import Latent, Model

# All in MiB, SGLang's unit for them.
_CONSTANT_MIB, _MIB_A_TOKEN, _FEWEST_TOKENS = 512, 1.5, 2048
_MIB_A_BATCH, _MIB_A_DP_BATCH, _MIB_A_LARGE_DP_BATCH, _LARGE_BATCH = 2, 3, 1.5, 300
_MIB_A_PREFILL_GRAPH, _LATENT_PREFILL_MIB = 8, 1536
_LARGE_CARD_MIB, _LARGE_CARD_RESERVE_MIB = 60 * 1024, 10 * 1024
_DEEPEP_MIB = 2048
_DEEPEP_PREFILL_MIB = 1024
_MULTIMODAL_FACTOR = 0.95
_BASE_LAYERS, _BASE_WIDTH = 24, 1024
_DEFAULT_PREFILL_TOKENS = 16384


class Workload(Struct, frozen=True):
    """What the reserve is computed from.

    Attributes:
        chunk: tokens of a prefill chunk; -1 where prefill isn't cut.
    """

    parallel: Parallel
    graphs: Graphs
    speculation: Speculation | None
    chunk: int


def automatic_fraction(request: PlanRequest, work: Workload) -> float:
    """The fraction for the smallest card that nvidia-smi shows."""
    total_mib = request.smallest_total_mib
    if total_mib is None:
        fraction = request.rules.unknown_card_fraction
    elif request.rules.fraction is Fraction.BY_WORK:
        fraction = round((total_mib - _reserve_mib(request, work, total_mib)) / total_mib, 3)
    else:
        fraction = early_fraction(request, work.parallel, work.speculation, total_mib)
    if not request.model.multimodal or _serves_text_alone(request):
        return fraction
    return _for_vision(fraction, request.model)


def _reserve_mib(request: PlanRequest, work: Workload, total_mib: int) -> float:
    reserve = _CONSTANT_MIB + _MIB_A_TOKEN * _activation_tokens(request, work)
    reserve += work.parallel.world / 8 * 1024
    reserve += _decode_mib(request, work) + _prefill_mib(request, work)
    if total_mib > _LARGE_CARD_MIB:
        reserve = max(reserve, _LARGE_CARD_RESERVE_MIB)
    if request.rules.prefill_divisor is not None and work.graphs.prefill:
        reserve += work.graphs.largest_prefill // request.rules.prefill_divisor
    if request.rules.graphs_off_frees_reserve and work.graphs.decode and _uses_deepep(request):
        reserve += _DEEPEP_MIB
    return reserve + _draft_mib(request, work.speculation)


def _activation_tokens(request: PlanRequest, work: Workload) -> int:
    flags = request.flags
    if request.rules.graphs_off_frees_reserve and flags.get("disaggregation-mode") == "decode":
        drafts = work.speculation.draft_tokens if work.speculation else 1
        requests = flags.get("max-running-requests") or work.graphs.largest_batch
        return max(int(requests * drafts), _FEWEST_TOKENS)
    tokens = work.chunk if work.chunk > 0 else flags.get("max-prefill-tokens") or _DEFAULT_PREFILL_TOKENS
    return max(int(tokens), _FEWEST_TOKENS)


def _decode_mib(request: PlanRequest, work: Workload) -> float:
    batch, replicas = work.graphs.largest_batch, work.parallel.attention_dp
    newer = request.rules.graphs_off_frees_reserve
    if newer and request.flags.get("disaggregation-mode") == "prefill":
        return 0.0
    reserve = float(_MIB_A_BATCH * batch) if work.graphs.decode or not newer else 0.0
    if replicas > 1:
        reserve += (_MIB_A_DP_BATCH + (_MIB_A_LARGE_DP_BATCH if batch > _LARGE_BATCH else 0)) * batch * replicas
    return reserve


def _prefill_mib(request: PlanRequest, work: Workload) -> float:
    graphs = work.graphs.prefill
    if not graphs or request.rules.prefill_divisor is not None:
        return 0.0
    is_latent = isinstance(request.model.attention.full, Latent)
    reserve = _LATENT_PREFILL_MIB if is_latent else _MIB_A_PREFILL_GRAPH * len(graphs)
    extra = _DEEPEP_PREFILL_MIB if request.rules.graphs_off_frees_reserve and _uses_deepep(request) else 0
    return reserve + extra


def _draft_mib(request: PlanRequest, speculation: Speculation | None) -> int:
    if speculation is None or speculation.algorithm == "NGRAM":
        return 0
    rules = request.rules
    return rules.standalone_reserve_mib if speculation.algorithm == "STANDALONE" else rules.draft_reserve_mib


def _uses_deepep(request: PlanRequest) -> bool:
    return bool(request.flags.get("moe-a2a-backend") == "deepep")


def _serves_text_alone(request: PlanRequest) -> bool:
    if request.rules.text_only_flag and request.flags.has("language-only", "language-model-only"):
        return True
    return request.rules.text_only_decode and request.flags.get("disaggregation-mode") == "decode"


def _for_vision(fraction: float, model: Model) -> float:
    """Less for images, by the size of the vision tower; unchanged where the config names none."""
    if model.vision is None:
        return fraction
    layers = _BASE_LAYERS if model.vision.num_hidden_layers is None else model.vision.num_hidden_layers
    width = _BASE_WIDTH if model.vision.hidden_size is None else model.vision.hidden_size
    size = layers * width**2 / (_BASE_LAYERS * _BASE_WIDTH**2)
    adjustment = max(0.8, min(1.05, 1.0 - 0.1 * (size - 1.0)))
    return fraction * (_MULTIMODAL_FACTOR * adjustment)
