"""What keeps a release from capturing CUDA graphs for prefill, when nothing is said about them: one table.

Sources: SGLang 0.5.10.post1 server_args.py:1078, 0.5.11:1186, 0.5.13:1301 (_handle_piecewise_cuda_graph); 0.5.15 to
0.5.18 server_args.py, 0.5.19 to 0.5.23 arg_groups/cuda_graph_hook.py (disable_breakable_cudagraph_if_incompatible);
configs/model_config.py of each (lists of architectures).
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from tui.budget.parallel import Parallel
from tui.budget.types import PlanRequest
from tui.model.shapes import KdaState, Latent
from tui.sglang.versions import Release

Test = Callable[[PlanRequest, Parallel], bool]

_DENIED_EARLY = frozenset(
    {
        "DeepseekV32ForCausalLM",
        "GlmMoeDsaForCausalLM",
        "Qwen3NextForCausalLM",
        "BailingMoeV2_5ForCausalLM",
        "LLaDAModelLM",
    }
)
_DENIED_LATER = (_DENIED_EARLY | {"DeepseekV4ForCausalLM"}) - {"DeepseekV32ForCausalLM", "GlmMoeDsaForCausalLM"}
_KNOWN_EXCHANGES = (None, "none", "deepep", "megamoe", "flashinfer")
# Multimodal models that have prefill graphs all the same, and since when.
_MULTIMODAL_SINCE = {
    "Qwen3_5ForConditionalGeneration": "0.5.16",
    "Qwen3_5MoeForConditionalGeneration": "0.5.16",
    "KimiK25ForConditionalGeneration": "0.5.16",
    "MiniMaxM3SparseForConditionalGeneration": "0.5.16",
    "MiniMaxM3SparseForCausalLM": "0.5.16",
    "InternS2MobiusForConditionalGeneration": "0.5.18",
    "KimiK3ForConditionalGeneration": "0.5.18",
    "MuseGlimmerForConditionalGeneration": "0.5.18",
    "Cohere2VisionForConditionalGeneration": "0.5.14",
    "PaddleOCRVLForConditionalGeneration": "0.5.19",
    "Glm5NextForConditionalGeneration": "0.5.20",
    "Qwen4ExpForConditionalGeneration": "0.5.22",
    "MuseSparkForConditionalGeneration": "0.5.23",
}


class Stop(Struct, frozen=True):
    """A reason for none.

    Attributes:
        since: the first release that stops for it.
        until: the first that doesn't any more; None for never.
    """

    why: str
    since: str
    until: str | None
    applies: Test

    def holds(self, release: Release) -> bool:
        """Whether that release knows the reason."""
        return release.includes(self.since) and (self.until is None or not release.includes(self.until))


def captures_prefill(request: PlanRequest, parallel: Parallel) -> bool:
    """Whether prefill graphs are captured when no backend is named for them."""
    flags, rules = request.flags, request.rules
    if not rules.prefill_graphs:
        return flags.has("enable-piecewise-cuda-graph")
    if flags.has("enforce-piecewise-cuda-graph"):
        return True
    if flags.has("disable-piecewise-cuda-graph", "disable-prefill-cuda-graph"):
        return False
    if rules.graphs_off_for_prefill and flags.has("disable-cuda-graph"):
        return False
    return not any(stop.holds(request.release) and stop.applies(request, parallel) for stop in _STOPS)


def _given(*names: str) -> Test:
    return lambda request, _: request.flags.has(*names)


def _is_one_of(architectures: frozenset[str]) -> Test:
    return lambda request, _: request.model.architecture in architectures


def _is_multimodal(request: PlanRequest, _: Parallel) -> bool:
    if not request.model.multimodal:
        return False
    since = _MULTIMODAL_SINCE.get(request.model.architecture)
    return since is None or not request.release.includes(since)


def _is_latent(request: PlanRequest, _: Parallel) -> bool:
    return isinstance(request.model.attention.full, Latent)


def _is_plain_latent(request: PlanRequest, _: Parallel) -> bool:
    attention = request.model.attention.full
    return isinstance(attention, Latent) and attention.index_head_dim is None


def _is_kda(request: PlanRequest, _: Parallel) -> bool:
    exempt = request.model.architecture == "Glm5NextForConditionalGeneration" and request.release.includes("0.5.22")
    return isinstance(request.model.state, KdaState) and not exempt


def _exchanges_experts(request: PlanRequest, _: Parallel) -> bool:
    return request.flags.get("moe-a2a-backend") not in (None, "none")


_STOPS = (
    Stop("speculation", "0.5.10", "0.5.11", lambda request, _: request.flags.get("speculative-algorithm") is not None),
    Stop("architecture", "0.5.10", "0.5.13", _is_one_of(_DENIED_EARLY)),
    Stop("architecture", "0.5.13", "0.5.15", _is_one_of(_DENIED_LATER)),
    Stop("DeepSeek-V4", "0.5.15", None, _is_one_of(frozenset({"DeepseekV4ForCausalLM"}))),
    Stop("torch.compile", "0.5.10", "0.5.15", _given("enable-torch-compile")),
    Stop("offloading", "0.5.10", "0.5.15", _given("cpu-offload-gb", "enable-hierarchical-cache")),
    Stop("determinism", "0.5.10", "0.5.15", _given("enable-deterministic-inference")),
    Stop("symmetric memory", "0.5.10", "0.5.15", _given("enable-symm-mem")),
    Stop("expert recording", "0.5.10", "0.5.15", _given("enable-eplb", "expert-distribution-recorder-mode")),
    Stop("debugging", "0.5.11", "0.5.15", _given("debug-cuda-graph")),
    Stop(
        "a role", "0.5.10", "0.5.15", lambda request, _: request.flags.get("disaggregation-mode") not in (None, "null")
    ),
    Stop("decode role", "0.5.17", None, lambda request, _: request.flags.get("disaggregation-mode") == "decode"),
    Stop("LoRA", "0.5.10", "0.5.17", _given("enable-lora", "lora-paths")),
    Stop("DP attention", "0.5.10", "0.5.17", lambda _, parallel: parallel.attention_dp > 1),
    Stop("pipeline", "0.5.10", "0.5.15", lambda _, parallel: parallel.pipeline > 1),
    Stop("pipeline", "0.5.19", None, lambda _, parallel: parallel.pipeline > 1),
    Stop("context parallel", "0.5.10", None, lambda _, parallel: parallel.attention_context > 1),
    Stop("expert exchange", "0.5.10", "0.5.17", _exchanges_experts),
    Stop(
        "expert exchange",
        "0.5.17",
        None,
        lambda request, _: request.flags.get("moe-a2a-backend") not in _KNOWN_EXCHANGES,
    ),
    Stop("two-batch overlap", "0.5.17", None, _given("enable-two-batch-overlap")),
    Stop("images", "0.5.10", None, _is_multimodal),
    Stop("MLA", "0.5.15", "0.5.17", _is_latent),
    Stop("MLA", "0.5.17", "0.5.18", _is_plain_latent),
    Stop("Nemotron-H", "0.5.17", "0.5.18", _is_one_of(frozenset({"NemotronHForCausalLM"}))),
    Stop("KDA", "0.5.20", None, _is_kda),
)
