"""How a hybrid model's states share the radix cache: the strategy a release settles on, and slots a request needs.

Sources: SGLang server_args.py _handle_mamba_radix_cache (0.5.9:1699, 0.5.11:1079, 2366), arg_groups/overrides.py:454
(0.5.23, _mamba_radix_cache_resolution), _calculate_mamba_ratio (0.5.11 model_runner_kv_cache_mixin.py:174, 0.5.23
kv_cache_configurator.py:3062).
"""

from __future__ import annotations

from msgspec import Struct

from tui.budget.backend import Backend
from tui.budget.refusal import RefusedLaunch
from tui.budget.speculation import Speculation
from tui.budget.types import PlanRequest

NO_BUFFER, EXTRA_BUFFER, LAZY_BUFFER = "no_buffer", "extra_buffer", "extra_buffer_lazy"
STRATEGY_FLAGS = ("mamba-radix-cache-strategy", "mamba-scheduler-strategy")
_NO_BUFFER_SLOTS, _LAZY_SLOTS = 3, 4
_EXTRA_SLOTS, _EXTRA_SLOTS_WITHOUT_OVERLAP = 5, 4
# Releases before these know the architecture, but not the extra buffer for it.
_BUFFER_SINCE = {
    "BailingMoeV2_5ForCausalLM": "0.5.13",
    "FalconH1ForCausalLM": "0.5.13",
    "GraniteMoeHybridForCausalLM": "0.5.13",
    "NemotronHForCausalLM": "0.5.13",
    "KimiLinearForCausalLM": "0.5.16",
    "Qwen3_5ForCausalLM": "0.5.19",
    "Qwen3_5MoeForCausalLM": "0.5.19",
    "NemotronH_Nano_Omni_Reasoning_V3": "0.5.20",
}
# These never get one.
_UNBUFFERED = frozenset(
    {
        "JetNemotronForCausalLM",
        "JetVLMForConditionalGeneration",
        "Lfm2ForCausalLM",
        "Lfm2MoeForCausalLM",
        "ZayaForCausalLM",
        "MiniCPMSALAForCausalLM",
        "InternS2MobiusForConditionalGeneration",
    }
)
# Up to this release their states can't be kept in the radix cache at all, which is switched off.
_NO_RADIX_BEFORE = {"KimiLinearForCausalLM": "0.5.14", "BailingMoeV2_5ForCausalLM": "0.5.13"}


class StateStrategy(Struct, frozen=True):
    """The outcome.

    Attributes:
        name: `no_buffer`, `extra_buffer` or `extra_buffer_lazy`; without radix cache it has no effect.
        slots_per_request: state slots that a running request needs.
    """

    name: str
    radix_cache: bool
    overlap: bool
    slots_per_request: int


def resolve_strategy(
    request: PlanRequest, speculation: Speculation | None, backend: Backend, *, pipelined: bool
) -> StateStrategy:
    """The strategy of a hybrid model.

    Raises:
        RefusedLaunch: the release refuses the combination.
    """
    flags, rules = request.flags, request.rules
    before = _NO_RADIX_BEFORE.get(request.model.architecture)
    radix = not flags.has("disable-radix-cache") and (before is None or request.release.includes(before))
    overlap = not flags.has("disable-overlap-schedule")
    typed = flags.get(*STRATEGY_FLAGS) if rules.strategies else None
    if not rules.strategies:
        name, overlap = NO_BUFFER, overlap and not radix
    elif rules.auto_strategy == NO_BUFFER:
        name, radix, overlap = _choose_early(typed, request, speculation, radix=radix, overlap=overlap)
    else:
        name, overlap = _choose_late(typed, request, backend, radix=radix, overlap=overlap)
    if pipelined or (speculation is not None and speculation.stops_overlap):
        overlap = False
    if rules.ratio_ignores_overlap:  # 0.5.8 and 0.5.9 ask for speculation instead
        overlap = speculation is None
    saved = 1 if radix and name != NO_BUFFER and request.is_set("SGLANG_OPT_MAMBA_SKIP_DECODE_LOCK") else 0
    return StateStrategy(name, radix, overlap, _slots(name, radix=radix, overlap=overlap) - saved)


def _supports_buffer(request: PlanRequest) -> bool:
    architecture = request.model.architecture
    since = _BUFFER_SINCE.get(architecture)
    return architecture not in _UNBUFFERED and (since is None or request.release.includes(since))


def _choose_early(
    typed: str | None, request: PlanRequest, speculation: Speculation | None, *, radix: bool, overlap: bool
) -> tuple[str, bool, bool]:
    """0.5.8 to 0.5.13: no_buffer unless another is typed; returns the name, radix cache and overlap."""
    release, architecture = request.release, request.model.architecture
    name = NO_BUFFER if typed in (None, "auto") else str(typed)
    if name != NO_BUFFER:
        if not _supports_buffer(request):
            error = f"mamba extra_buffer is not supported for {architecture} model"
            raise RefusedLaunch(f"{architecture} can't use {name} in SGLang {release.text}", error)
        if not radix and release.includes("0.5.10"):
            raise RefusedLaunch(
                f"{name} and --disable-radix-cache exclude each other in SGLang {release.text}",
                "mamba extra_buffer is not compatible with --disable-radix-cache",
            )
        return name, radix, overlap
    if not radix:
        return name, radix, overlap
    if speculation is None:
        return name, radix, False
    if not release.includes("0.5.9"):
        return name, radix, overlap
    if not release.includes("0.5.10"):
        return name, False, overlap
    raise RefusedLaunch(
        f"SGLang {release.text} can't speculate with {architecture} while no_buffer keeps its states in the "
        "radix cache: choose --mamba-scheduler-strategy extra_buffer, or --disable-radix-cache",
        f"Speculative decoding for {architecture} is not compatible with radix cache when using "
        "--mamba-scheduler-strategy no_buffer.",
    )


def _choose_late(
    typed: str | None, request: PlanRequest, backend: Backend, *, radix: bool, overlap: bool
) -> tuple[str, bool]:
    """From 0.5.14 on: extra_buffer where the model supports it; returns the name and overlap."""
    flags, release, architecture = request.flags, request.release, request.model.architecture
    if not radix:
        return NO_BUFFER if typed in (None, "auto") else str(typed), overlap
    if typed in (None, "auto"):
        has_room = overlap or backend.page_size > 1
        triton = flags.get("linear-attn-backend", "linear-attn-decode-backend") in (None, "triton")
        if has_room and triton and _supports_buffer(request):
            return EXTRA_BUFFER, overlap
        return NO_BUFFER, False
    if typed == NO_BUFFER:
        _check_no_buffer(request, backend, overlap=overlap)
        return NO_BUFFER, overlap
    if not _supports_buffer(request):
        error = f"extra_buffer is not supported for {architecture}; use no_buffer."
        raise RefusedLaunch(f"{architecture} can't use {typed} in SGLang {release.text}", error)
    if typed == LAZY_BUFFER and not overlap:
        raise RefusedLaunch(
            "extra_buffer_lazy and --disable-overlap-schedule exclude each other",
            "Lazy extra buffer requires overlap schedule (--disable-overlap-schedule is incompatible)",
        )
    return str(typed), overlap


def _check_no_buffer(request: PlanRequest, backend: Backend, *, overlap: bool) -> None:
    """What a typed no_buffer needs, in the order of 0.5.23 arg_groups/mamba_hook.py:156."""
    if backend.page_size != 1:
        reason = f"no_buffer needs pages of 1, and they are of {backend.page_size} here"
        raise RefusedLaunch(reason, "no_buffer only supports page_size=1.")
    if overlap:
        raise RefusedLaunch(
            f"no_buffer needs --disable-overlap-schedule in SGLang {request.release.text}",
            "no_buffer do not support overlap schedule. Try to set disable_overlap_schedule=True.",
        )
    if backend.name == "trtllm_mha":
        error = "no_buffer do not support trtllm_mha attention backend."
        raise RefusedLaunch("no_buffer doesn't go with the attention backend trtllm_mha", error)


def _slots(name: str, *, radix: bool, overlap: bool) -> int:
    if not radix:
        return 1
    if name == NO_BUFFER:
        return _NO_BUFFER_SLOTS
    if name == LAZY_BUFFER:
        return _LAZY_SLOTS
    return _EXTRA_SLOTS if overlap else _EXTRA_SLOTS_WITHOUT_OVERLAP
