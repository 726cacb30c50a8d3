"""Values that a model or a card can't take, and flags that have no effect with it. Files are SGLang 0.5.23's."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec import Struct

from tui.budget.parallel import read_parallel
from tui.budget.refusal import RefusedLaunch
from tui.lint.case import Case
from tui.lint.finding import Finding, Fix, Severity
from tui.model.shapes import Latent, Model

_DRAFTED = frozenset({"EAGLE", "EAGLE3", "NEXTN", "STANDALONE"})
_LONGER = "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN"
_YES = ("1", "true", "yes", "y", "on")

# CUDA capability that a quantisation needs at least: get_min_capability in layers/quantization (0.5.6.post2 to 0.5.23
# agree), which model_loader/loader.py:259 checks.
_MIN_CAPABILITY = {
    "fp8": 80,
    "blockwise_int8": 80,
    "fpgemm_fp8": 80,
    "w8a8_int8": 75,
    "w8a8_fp8": 89,
    "modelopt_fp8": 89,
    "modelopt_fp4": 100,
    "w4afp8": 90,
    "petit_nvfp4": 90,
    "moe_wna16": 70,
    "compressed-tensors": 70,
}
# Until 0.5.22 at least; 0.5.23's modelopt_quant.py has another class for older cards.
_NEWEST_OF_FP4 = "0.5.12"


class _Idle(Struct, frozen=True):
    """Flags without effect with some models.

    Attributes:
        prefixes: of the flags' common names.
        lacks: the model hasn't what they are about.
        what: what it hasn't, in words.
    """

    prefixes: tuple[str, ...]
    lacks: Callable[[Model], bool]
    what: str


_IDLE: tuple[_Idle, ...] = (
    _Idle(
        (
            "mamba-",
            "max-mamba-",
            "linear-attn-",
            "enable-mamba-",
            "enable-linear-",
            "int8-mamba-",
            "enable-int8-mamba-",
        ),
        lambda model: model.state is None,
        "has no recurrent state",
    ),
    _Idle(
        ("ep-", "eplb-", "enable-eplb", "deepep-", "moe-a2a-", "moe-runner-", "expert-", "init-expert-"),
        lambda model: model.experts is None,
        "has no experts",
    ),
    _Idle(("swa-full-tokens-ratio",), lambda model: not model.attention.sliding_layers, "has no sliding-window layers"),
    _Idle(("mm-", "enable-multimodal", "limit-mm-"), lambda model: not model.multimodal, "takes text alone"),
    _Idle(
        ("dsa-", "nsa-", "enable-nsa-", "enable-dsa-"),
        lambda model: (
            not (isinstance(model.attention.full, Latent) and model.attention.full.index_head_dim is not None)
        ),
        "has no sparse attention of that kind",
    ),
)


def find_model_faults(case: Case) -> Iterator[Finding]:
    """What the model can't take."""
    if case.model is not None:
        yield from _find_idle(case, case.model)
        yield from _find_long_context(case, case.model)
        yield from _find_missing_draft(case, case.model)


def find_card_faults(case: Case) -> Iterator[Finding]:
    """What the cards can't take."""
    if case.cards is None:
        return
    yield from _find_too_few(case, len(case.cards))
    if case.capability is not None:
        yield from _find_backend(case, case.capability)
        yield from _find_quantization(case, case.capability)


def _find_idle(case: Case, model: Model) -> Iterator[Finding]:
    for common, given in case.flags.given.items():
        row = next((row for row in _IDLE if common.startswith(row.prefixes)), None)
        if row is None or not row.lacks(model) or case.flags.values[common] in (False, given.flag.default):
            continue
        name = case.typed(common)
        what = f"--{name} has no effect: {model.architecture} {row.what}"
        yield Finding("no-effect", Severity.NOTE, name, what, "leave it out", Fix(unset=(name,)))


def _find_long_context(case: Case, model: Model) -> Iterator[Finding]:
    """configs/model_config.py:1299: refused unless the environment allows it."""
    length = case.get("context-length")
    if not isinstance(length, int) or length <= model.context_length:
        return
    name = case.typed("context-length")
    what = f"--{name} is {length}, and the model's own limit is {model.context_length} tokens"
    if case.environment.get(_LONGER, "").strip().lower() in _YES:
        yield Finding("long-context", Severity.WARNING, name, what, "answers beyond it may be nonsense")
        return
    remedy = f"lower it, or scale the rope and set {_LONGER}=1 in [env]"
    yield Finding("long-context", Severity.ERROR, name, what, remedy, Fix({name: model.context_length}))


def _find_missing_draft(case: Case, model: Model) -> Iterator[Finding]:
    """Without a draft path the target's own MTP layers are loaded, and a model without them has none.

    SGLang then loads the target as its own draft, which ends in `no attribute 'set_embed'`.
    """
    algorithm = str(case.get("speculative-algorithm") or "").upper()
    if algorithm not in _DRAFTED or case.get("speculative-draft-model-path") is not None:
        return
    has_own = model.mtp_layers > 0 or model.nextn_layers > 0
    if has_own and algorithm != "STANDALONE":
        return
    name = case.typed("speculative-algorithm")
    what = f"--{name} {algorithm} needs a draft model" + (
        "" if has_own else f", and {model.architecture} has no MTP layers"
    )
    yield Finding("no-draft-model", Severity.ERROR, name, what, "give --speculative-draft-model-path")


def _find_too_few(case: Case, cards: int) -> Iterator[Finding]:
    try:
        parallel = read_parallel(case.flags)
    except RefusedLaunch:
        return  # told by the planner's own rules
    base = case.get("base-gpu-id") or 0
    needed = parallel.local_ranks * (case.get("gpu-id-step") or 1) + base
    if needed <= cards:
        return
    name = next((name for name in ("tp-size", "pp-size", "dp-size", "base-gpu-id") if case.get(name)), "tp-size")
    what = f"these flags need {needed} GPUs, and the server will see {cards}"
    yield Finding("too-few-gpus", Severity.ERROR, case.typed(name), what, f"choose more GPUs, or lower --{name}")


def _find_backend(case: Case, capability: tuple[int, int]) -> Iterator[Finding]:
    """0.5.11 server_args.py:2600-2650, arg_groups/attention_hook.py:200-228, overrides.py:563."""
    major = capability[0]
    for common in ("attention-backend", "prefill-attention-backend", "decode-attention-backend"):
        backend = case.get(common)
        allowed = _allowed_majors(str(backend), common, case)
        if allowed is None or major in allowed:
            continue
        name = case.typed(common)
        cards = " and ".join(f"SM{one}x" for one in sorted(allowed))
        what = f"--{name} {backend} needs a card of {cards}, and this one is SM{capability[0]}{capability[1]}"
        yield Finding(
            "backend-on-card", Severity.ERROR, name, what, "choose another, or leave it to SGLang", Fix(unset=(name,))
        )


def _allowed_majors(backend: str, flag: str, case: Case) -> frozenset[int] | None:
    if backend == "trtllm_mla":
        return frozenset({10, 12})
    if backend != "trtllm_mha":
        return None
    for_prefill = flag != "decode-attention-backend" and case.get("prefill-attention-backend") in (None, backend)
    if for_prefill and not case.release.includes("0.5.12"):
        return frozenset({10})
    return frozenset({9, 10, 12})


def _find_quantization(case: Case, capability: tuple[int, int]) -> Iterator[Finding]:
    typed = case.get("quantization")
    own = case.model.quantization.method if case.model is not None and case.model.quantization is not None else None
    method = typed or own
    needed = _MIN_CAPABILITY.get(str(method))
    has = capability[0] * 10 + capability[1]
    if needed is None or has >= needed or (method == "modelopt_fp4" and case.release.includes(_NEWEST_OF_FP4)):
        return
    name = case.typed("quantization") if typed else ""
    least, this = f"{needed // 10}.{needed % 10}", f"{capability[0]}.{capability[1]}"
    what = f"{method} needs CUDA capability {least}, and this card has {this}"
    yield Finding(
        "quantization-on-card", Severity.ERROR, name, what, "choose another quantisation or checkpoint, or another card"
    )
