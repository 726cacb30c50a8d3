"""Which attention backend a release chooses, and the page size that it forces on the KV cache.

Sources: SGLang server_args.py _get_default_attn_backend and _handle_attention_backend_compatibility (0.5.6.post2:1350,
0.5.11:2464, 2580-2670), arg_groups/overrides.py and model_override_base.py (0.5.19:273, 0.5.23:277).
"""

from __future__ import annotations

from msgspec import Struct

from tui.budget.refusal import RefusedLaunch
from tui.budget.types import PlanRequest
from tui.model.shapes import GroupedQuery, Latent, Mamba2State

_HOPPER, _BLACKWELL, _SMALL_BLACKWELL = 9, 10, 12
_ANY_BACKEND = ("attention-backend", "prefill-attention-backend", "decode-attention-backend")
_MAIN_OR_DECODE = ("attention-backend", "decode-attention-backend")
_DSA_PAGE = 64
_TRTLLM_PAGE = 64
_QSA_PAGE = 64
_FA4_PAGE = 128
# Backend, the flags that are looked at, pages it takes, and the page it gets otherwise.
_FORCED_PAGES: tuple[tuple[str, tuple[str, ...], tuple[int, ...], int], ...] = (
    ("flashmla", _MAIN_OR_DECODE, (64,), 64),
    ("cutlass_mla", _MAIN_OR_DECODE, (128,), 128),
    ("trtllm_mla", _MAIN_OR_DECODE, (32, 64), 64),
    ("tokenspeed_mla", _MAIN_OR_DECODE, (32, 64), 64),
    ("cutedsl_mla", _ANY_BACKEND, (32, 64), 64),
    ("trtllm_mha", _ANY_BACKEND, (16, 32, 64), 64),
    ("hpc_ops", _ANY_BACKEND, (64,), 64),
)
# On B200-class cards their sparse-free MLA goes to TensorRT-LLM's kernels.
_TRTLLM_MLA = frozenset(
    {"DeepseekV3ForCausalLM", "KimiK25ForConditionalGeneration", "MistralLarge3ForCausalLM", "LongcatFlashForCausalLM"}
)
_GDN_ARCHITECTURES = frozenset(
    {
        "Qwen3NextForCausalLM",
        "Qwen3_5ForConditionalGeneration",
        "Qwen3_5MoeForConditionalGeneration",
        "InternS2PreviewForConditionalGeneration",
    }
)
_SINK_ARCHITECTURES = frozenset({"GptOssForCausalLM"})
_FOR_SINKS = {_HOPPER: "fa3", _BLACKWELL: "trtllm_mha"}


class Backend(Struct, frozen=True):
    """The outcome.

    Attributes:
        name: of the attention backend; None where the card's capability isn't known.
        page_size: tokens that the KV cache gives out at once.
    """

    name: str | None
    page_size: int


def resolve_backend(request: PlanRequest) -> Backend:
    """The backend and page size that a release chooses before it looks at recurrent state.

    Raises:
        RefusedLaunch: the release refuses the combination.
    """
    name = request.flags.get("attention-backend")
    typed_page = request.flags.get("page-size")
    if typed_page is not None and typed_page < 1:
        raise RefusedLaunch(f"--page-size is {typed_page}, but must be at least 1")
    is_chosen = name is None and request.capability is not None
    if name is None and request.capability is not None:
        name = _default(request, request.capability[0])
    page = _forced_page(request, name) or typed_page or 1
    if is_chosen and request.rules.draft_first and _chooses_page_too(request):
        page = _TRTLLM_PAGE if name == "trtllm_mha" else 1
    return Backend(name, page)


def _chooses_page_too(request: PlanRequest) -> bool:
    """Gated-delta-net hybrids on B200-class cards: whatever page was typed."""
    is_blackwell = request.capability is not None and request.capability[0] == _BLACKWELL
    return is_blackwell and request.model.architecture in _GDN_ARCHITECTURES


def _default(request: PlanRequest, major: int) -> str:
    model = request.model
    if isinstance(model.attention.full, Latent):
        return _default_latent(model.architecture, model.attention.full, major)
    if model.architecture in _SINK_ARCHITECTURES:
        return _FOR_SINKS.get(major, "triton")
    plain = _default_grouped(request, major)
    if major == _BLACKWELL and model.architecture in _GDN_ARCHITECTURES:
        return plain if plain == "trtllm_mha" and _takes_paged_states(request) else "triton"
    if major == _BLACKWELL and isinstance(model.state, Mamba2State):
        return "flashinfer"
    return plain


def _takes_paged_states(request: PlanRequest) -> bool:
    """Pages above 1 are chosen for a typed extra buffer only: `auto` is resolved later than the backend."""
    flags = request.flags
    typed = flags.get("mamba-radix-cache-strategy", "mamba-scheduler-strategy") or "auto"
    frees = flags.has("disable-radix-cache") or flags.get("speculative-algorithm") is not None
    return request.release.includes("0.5.10") and (frees or typed.startswith("extra_buffer"))


def _default_latent(architecture: str, attention: Latent, major: int) -> str:
    if attention.index_head_dim is not None:
        return "dsa"
    if major == _HOPPER:
        return "fa3"
    if major == _BLACKWELL:
        return "trtllm_mla" if architecture in _TRTLLM_MLA else "flashinfer"
    return "triton"


def _default_grouped(request: PlanRequest, major: int) -> str:
    flags, release = request.flags, request.release
    topk = flags.get("speculative-eagle-topk")
    page = flags.get("page-size")
    chain = topk is None or (topk == 1 and page in (None, 1))
    if major == _HOPPER and chain:
        return "fa3"
    newer = release.includes("0.5.7")
    speculates = flags.get("speculative-algorithm") is not None
    if chain and major == _BLACKWELL and (not newer or not speculates or topk is not None):
        return "trtllm_mha"
    if chain and major == _SMALL_BLACKWELL and not newer:
        raise RefusedLaunch(
            f"SGLang {release.text} chooses trtllm_mha for this card and then refuses it; give --attention-backend",
            "TRTLLM MHA backend is only supported on Blackwell GPUs (SM100). Please use a different backend.",
        )
    return "flashinfer"


def _forced_page(request: PlanRequest, name: str | None) -> int | None:
    flags, attention = request.flags, request.model.attention.full
    if isinstance(attention, Latent) and attention.index_head_dim is not None:
        return _DSA_PAGE
    if request.model.architecture == "Qwen4ExpForConditionalGeneration":
        return _QSA_PAGE
    typed = flags.get("page-size")
    chosen = {"attention-backend": name} | {option: flags.get(option) for option in _ANY_BACKEND[1:]}
    for backend, options, allowed, page in _FORCED_PAGES:
        if any(chosen[option] == backend for option in options) and typed not in allowed:
            return page
    looked_at = _ANY_BACKEND if request.release.includes("0.5.15") else ("prefill-attention-backend",)
    is_fa4 = isinstance(attention, GroupedQuery) and any(chosen[option] == "fa4" for option in looked_at)
    is_blackwell = request.capability is not None and request.capability[0] == _BLACKWELL
    return _FA4_PAGE if is_fa4 and is_blackwell else None
