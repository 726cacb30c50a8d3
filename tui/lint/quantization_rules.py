"""Quantisation and KV cache types that a checkpoint, a backend or a card can't take. Files are SGLang 0.5.23's."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from tui.budget.fp8_cache import SURE_FROM, can_read_fp8, default_backend
from tui.lint.case import Case
from tui.lint.finding import Finding, Fix, Severity
from tui.model.shapes import Latent, Model

# What may stand behind --quantization for a checkpoint that says of itself how it is quantised: itself, kernels that it
# is converted for while it loads (`override_quantization_method` of layers/quantization/*), and
# `compatible_quantization_methods`. All else is refused: configs/model_config.py:2143, 0.5.11:1114, 0.5.6.post2:733.
# Checkpoints of ModelOpt aren't here: what is typed gives way to what they say, silently.
_TAKEN_FOR = {
    "fp8": {"fp8"},
    "awq": {"awq", "awq_marlin", "marlin", "moe_wna16"},
    "gptq": {"gptq", "gptq_marlin", "marlin", "moe_wna16"},
    "compressed-tensors": {"compressed-tensors", "w8a8_int8", "w8a8_fp8"},
    "mxfp4": {"mxfp4"},
    "bitsandbytes": {"bitsandbytes"},
}
# Methods that all releases from 0.5.6.post2 to 0.5.23 judge alike; of others nothing is said.
_JUDGED = frozenset({
    *("fp8", "awq", "awq_marlin", "gptq", "gptq_marlin", "marlin", "moe_wna16", "bitsandbytes", "mxfp4"),
    *("compressed-tensors", "w8a8_int8", "w8a8_fp8", "modelopt_fp8", "petit_nvfp4"),
})  # fmt: skip


class _Cards(Struct, frozen=True):
    """A KV cache type that needs certain cards.

    Attributes:
        majors: of their CUDA capability.
    """

    dtype: str
    majors: frozenset[int]
    cards: str
    source: str


_KV_ON_CARDS = (
    _Cards("nvfp4", frozenset({10, 12}), "SM100 or SM120", "arg_groups/kv_cache_hook.py:128"),
    _Cards("mxfp8", frozenset({10, 11, 12}), "Blackwell", "arg_groups/kv_cache_hook.py:106"),
)
_FP4 = ("fp4_e2m1", "fp4_mx_block16")
_FP4_BACKENDS = (None, "triton", "torch_native", "flex_attention", "trtllm_mha", "fa4")  # FA4 has rules of its own
_SM120 = 12


def find_quantization_faults(case: Case) -> Iterator[Finding]:
    """What the checkpoint, the attention backend or the cards don't go together with."""
    if case.model is not None:
        yield from _find_mismatch(case, case.model)
    yield from _find_kv_on_card(case)
    yield from _find_fp8_on_card(case)
    yield from _find_kv_of_backend(case)


def _find_mismatch(case: Case, model: Model) -> Iterator[Finding]:
    own = model.quantization.method if model.quantization is not None else ""
    typed = str(case.get("quantization") or "").lower()
    taken = _TAKEN_FOR.get(own)
    if taken is None or typed not in _JUDGED or typed in taken:
        return
    name = case.typed("quantization")
    what = f"the checkpoint is quantised with {own}, and --{name} says {typed}: SGLang refuses to load it"
    yield Finding("quantization-mismatch", Severity.ERROR, name, what, f"leave --{name} out", Fix(unset=(name,)))


def _find_kv_on_card(case: Case) -> Iterator[Finding]:
    dtype, capability = case.get("kv-cache-dtype"), case.capability
    row = next((row for row in _KV_ON_CARDS if row.dtype == dtype), None)
    if row is None or capability is None or capability[0] in row.majors:
        return
    name = case.typed("kv-cache-dtype")
    what = f"--{name} {dtype} needs a card of {row.cards}, and this one is SM{capability[0]}{capability[1]}"
    remedy = "choose fp8_e4m3, or leave it out"
    yield Finding("kv-dtype-on-card", Severity.ERROR, name, what, remedy, Fix({name: "fp8_e4m3"}))


def _find_fp8_on_card(case: Case) -> Iterator[Finding]:
    """Only where it is known that it can't work; with other backends nobody can tell."""
    capability, name = case.capability, case.typed("kv-cache-dtype")
    if case.get("kv-cache-dtype") != "fp8_e4m3" or capability is None or capability >= SURE_FROM:
        return
    has = f"{capability[0]}.{capability[1]}"
    sparse = (case.get("dsa-prefill-backend"), case.get("dsa-decode-backend"))
    if "tilelang" in sparse and case.release.includes("0.5.23"):  # arg_groups/overrides.py:583
        what = f"--{name} fp8_e4m3 with TileLang needs CUDA capability 8.9, and this card has {has}"
        yield Finding("kv-dtype-on-card", Severity.ERROR, name, what, "choose bfloat16", Fix({name: "bfloat16"}))
        return
    request = case.request
    if can_read_fp8(case.flags, capability, None if request is None else default_backend(request)) is False:
        what = f"Triton's kernels read fp8_e4m3 from CUDA capability 8.9 on, and this card has {has}"
        remedy = "choose fp8_e5m2, or leave it out"
        yield Finding("kv-dtype-on-card", Severity.ERROR, name, what, remedy, Fix({name: "fp8_e5m2"}))


def _find_kv_of_backend(case: Case) -> Iterator[Finding]:
    """One finding at most: the first backend that can't read such a cache."""
    dtype, name = case.get("kv-cache-dtype"), case.typed("kv-cache-dtype")
    why = _why_not(case, str(dtype)) if dtype is not None else None
    if why is not None:
        yield Finding("kv-dtype-of-backend", Severity.ERROR, name, f"--{name} is {dtype}: {why}", "choose another")


def _why_not(case: Case, dtype: str) -> str | None:
    backend = case.get("attention-backend")
    decode = case.get("decode-attention-backend") or backend
    prefill = case.get("prefill-attention-backend") or backend
    is_known = case.release.includes("0.5.11")
    # arg_groups/overrides.py:1214, 0.5.11 server_args.py:2613, 0.5.6.post2:1460
    mla = ("auto", "fp8_e4m3", "fp4_e2m1", *(("bf16",) if is_known else ()))
    if "trtllm_mla" in (backend, decode) and dtype not in mla:
        return f"the backend trtllm_mla takes {', '.join(mla)}"
    # arg_groups/kv_cache_hook.py:52 and :85
    if dtype == "nvfp4" and prefill not in (None, "flashinfer", "trtllm_mha"):
        return f"prefill must be flashinfer or trtllm_mha, not {prefill}"
    if dtype == "nvfp4" and case.get("decode-attention-backend") not in (None, "trtllm_mha"):
        return f"decoding must be trtllm_mha, not {decode}"
    # arg_groups/attention_hook.py:207
    is_sm120 = case.capability is not None and case.capability[0] == _SM120
    if prefill == "trtllm_mha" and dtype == "fp8_e4m3" and is_sm120 and case.release.includes("0.5.23"):
        return "the backend trtllm_mha can't prefill with it on SM120"
    # arg_groups/kv_cache_hook.py:307, 0.5.11 server_args.py:2800
    is_plain = case.model is not None and not isinstance(case.model.attention.full, Latent)
    if dtype in _FP4 and is_plain and is_known and backend == prefill == decode and backend not in _FP4_BACKENDS:
        return f"the attention backend must be one of {', '.join(filter(None, _FP4_BACKENDS[:-1]))}, not {backend}"
    return None
