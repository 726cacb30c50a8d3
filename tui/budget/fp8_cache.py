"""Whether a card reads a KV cache of type fp8_e4m3.

SGLang asks for no capability; its kernels do. The Triton backend gives them the cache as `float8_e4m3fn`
(layers/attention/triton_backend.py, 0.5.6.post2:843, 0.5.11:954, 0.5.23:1866), which Triton compiles from compute
capability 8.9 on (triton/backends/nvidia/compiler.py:239; with 3.9.0 for sm_75, sm_80 and sm_86: "type fp8e4nv not
supported in this architecture"), while fp8_e5m2 compiles for all of them. Of FlashInfer and the others nothing in
SGLang tells.
"""

from __future__ import annotations

from tui.budget.backend import resolve_backend
from tui.budget.refusal import RefusedLaunch
from tui.budget.types import PlanRequest
from tui.sglang.parse import Flags

SURE_FROM = (8, 9)
DOUBT = "not known to work below compute capability 8.9"
_PHASES = ("prefill-attention-backend", "decode-attention-backend")


def reads_fp8_cache(request: PlanRequest) -> bool | None:
    """Whether the first card reads it with these flags; None where that isn't known."""
    return can_read_fp8(request.flags, request.capability, default_backend(request))


def can_read_fp8(flags: Flags, capability: tuple[int, int] | None, default: str | None) -> bool | None:
    """The same of a command line alone; `default` is the backend that is chosen where none is typed."""
    if capability is None:
        return None
    if capability >= SURE_FROM:
        return True
    main = flags.get("attention-backend") or default
    return False if "triton" in {flags.get(phase) or main for phase in _PHASES} else None


def default_backend(request: PlanRequest) -> str | None:
    """What the release chooses; None where it refuses these flags, or that isn't known."""
    try:
        return resolve_backend(request).name
    except RefusedLaunch:
        return None
