"""Speculative decoding as a release resolves it from flags.

Sources: SGLang server_args.py _handle_speculative_decoding (0.5.6.post2:1722, 0.5.9:2330, 0.5.11:3286) and
auto_choose_speculative_params (0.5.6.post2:4649, 0.5.11:7471), arg_groups/speculative_hook.py (0.5.13:272,
0.5.23:1072).
"""

from __future__ import annotations

from msgspec import Struct

from tui.budget.refusal import RefusedLaunch
from tui.budget.types import PlanRequest

_EAGLE_FAMILY = frozenset({"EAGLE", "EAGLE3", "STANDALONE"})
_ONE_PATH = frozenset({"DFLASH", "DSPARK", "FROZEN_KV_MTP"})
_LIMITED = _EAGLE_FAMILY | _ONE_PATH | {"NGRAM"}
_WIDE_TREE, _CHAIN = (5, 4, 8), (3, 1, 4)
_WIDE_ARCHITECTURES = frozenset({"LlamaForCausalLM", "Grok1ForCausalLM", "Grok1VForCausalLM"})
# Up to 0.5.7 only these got the chain; all others the tree.
_EARLY_CHAINS = frozenset(
    {
        "DeepseekV32ForCausalLM",
        "DeepseekV3ForCausalLM",
        "DeepseekV2ForCausalLM",
        "GptOssForCausalLM",
        "Glm4MoeForCausalLM",
        "BailingMoeForCausalLM",
        "BailingMoeV2ForCausalLM",
        "MistralLarge3ForCausalLM",
        "PixtralForConditionalGeneration",
        "MiMoV2FlashForCausalLM",
    }
)
_NGRAM_TOKENS, _NGRAM_BREADTH = 12, 10
_DFLASH_TOKENS = 16
# Their MTP layers are read from the target's own path, which SGLang then treats as a given draft path.
_OWN_DRAFT = frozenset(
    {
        "DeepseekV32ForCausalLM",
        "DeepseekV3ForCausalLM",
        "DeepseekV4ForCausalLM",
        "Glm4MoeForCausalLM",
        "Glm4MoeLiteForCausalLM",
        "GlmMoeDsaForCausalLM",
        "BailingMoeForCausalLM",
        "BailingMoeV2ForCausalLM",
        "BailingMoeV2_5ForCausalLM",
        "MistralLarge3ForCausalLM",
        "PixtralForConditionalGeneration",
        "HYV3ForCausalLM",
        "HYV4ForCausalLM",
        "Qwen4ExpForConditionalGeneration",
    }
)


class Speculation(Struct, frozen=True):
    """Resolved.

    Attributes:
        draft_tokens: verified in one step, for each request.
        draft_path: given, or the target's own for models that always carry their draft; None for a path left open.
        stops_overlap: the release switches the overlap schedule off for it.
    """

    algorithm: str
    steps: int
    topk: int
    draft_tokens: int
    draft_path: str | None
    stops_overlap: bool

    @property
    def has_draft_model(self) -> bool:
        """A second model is loaded; NGRAM looks its drafts up in the text."""
        return self.algorithm != "NGRAM"

    @property
    def is_eagle_family(self) -> bool:
        """EAGLE, EAGLE3, MTP and standalone drafts."""
        return self.algorithm in _EAGLE_FAMILY

    @property
    def limits_requests(self) -> bool:
        """`--max-running-requests` becomes 48 when it isn't given."""
        return self.algorithm in _LIMITED


def read_speculation(request: PlanRequest) -> Speculation | None:
    """What flags ask for, or None.

    Raises:
        RefusedLaunch: SGLang refuses the combination.
    """
    flags, model = request.flags, request.model
    asked = flags.get("speculative-algorithm")
    if asked is None:
        return None
    algorithm = "EAGLE" if asked.upper() == "NEXTN" else asked.upper()
    steps, topk, tokens = _read_sizes(algorithm, request)
    path = flags.get("speculative-draft-model-path")
    if path is None and algorithm in _EAGLE_FAMILY and model.architecture in _OWN_DRAFT:
        path = model.name
    if algorithm == "DFLASH" and path is None:
        raise RefusedLaunch(
            "DFLASH needs a draft model: give --speculative-draft-model-path",
            "DFLASH speculative decoding requires setting --speculative-draft-model-path.",
        )
    stops = _stops_overlap(algorithm, request)
    return Speculation(algorithm, steps, topk, tokens, path, stops)


def _read_sizes(algorithm: str, request: PlanRequest) -> tuple[int, int, int]:
    """Steps, top-k and draft tokens."""
    flags = request.flags
    steps, topk, tokens = (flags.get(f"speculative-{name}") for name in ("num-steps", "eagle-topk", "num-draft-tokens"))
    if any(value is not None and value < 1 for value in (steps, topk, tokens)):
        raise RefusedLaunch("speculative steps, top-k and draft tokens must be at least 1")
    if algorithm == "NGRAM":
        return 1, flags.get("speculative-ngram-max-bfs-breadth") or _NGRAM_BREADTH, tokens or _NGRAM_TOKENS
    if algorithm in _ONE_PATH:
        return 1, 1, flags.get("speculative-dflash-block-size") or tokens or _DFLASH_TOKENS
    if steps is None:
        if topk is not None or tokens is not None:
            raise RefusedLaunch(
                "--speculative-num-steps is missing beside the other two speculative sizes; give all three or none",
                "AssertionError",
            )
        return _choose_sizes(algorithm, request)
    if topk is None:
        raise RefusedLaunch(
            "--speculative-eagle-topk is missing beside --speculative-num-steps; give all three sizes or none",
            "TypeError: '>' not supported between instances of 'NoneType' and 'int'",
        )
    if topk == 1:
        return steps, 1, steps + 1  # whatever was typed: a chain drafts one token a step
    if tokens is None:
        raise RefusedLaunch("--speculative-num-draft-tokens is missing: a tree of drafts needs it")
    return steps, topk, tokens


def _choose_sizes(algorithm: str, request: PlanRequest) -> tuple[int, int, int]:
    if algorithm == "STANDALONE":
        return _CHAIN
    architecture = request.model.architecture
    if architecture in _WIDE_ARCHITECTURES:
        return _WIDE_TREE
    return _CHAIN if request.rules.drafts_are_chains or architecture in _EARLY_CHAINS else _WIDE_TREE


def _stops_overlap(algorithm: str, request: PlanRequest) -> bool:
    rules = request.rules
    if rules.overlap_with_drafts is None:
        return False
    if algorithm not in _EAGLE_FAMILY:
        return True
    topk = request.flags.get("speculative-eagle-topk")
    is_allowed = request.is_set("SGLANG_ENABLE_SPEC_V2", default=rules.overlap_with_drafts)
    return not is_allowed or (rules.trees_stop_overlap and topk is not None and topk > 1)
