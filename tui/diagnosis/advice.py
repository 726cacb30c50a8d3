"""What to change when only the log is there: by class, with values that follow from what was asked for."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from tui.budget.fp8_cache import DOUBT
from tui.diagnosis.detective import Detective
from tui.diagnosis.diagnosis import Change, Diagnosis
from tui.diagnosis.figures import RankFigures
from tui.diagnosis.server_args import Value, attention_replicas, typed_chunk
from tui.sglang.versions import NEWEST_KNOWN, Release

_FEW_REQUESTS = 8
_STEP = 0.05
_LOWEST, _HIGHEST = 0.3, 0.95
_MARGIN = 0.02
_GRAPH_BATCHES = (256, 128, 64, 32, 16, 8, 4, 2, 1)
_CHUNKS = (8192, 4096, 2048, 1024)
_MENDED = "0.5.13"  # the first release that doesn't reserve drafts' states for all allowed requests


class Case(Struct, frozen=True):
    """What the advice follows from."""

    detective: Detective
    diagnosis: Diagnosis
    release: Release | None

    @property
    def rank(self) -> RankFigures:
        """The fullest one."""
        return self.detective.figures.fullest

    def number(self, name: str) -> float | None:
        """An argument that is a number."""
        value: Value = self.detective.arguments.get(name)
        return value if isinstance(value, int | float) and not isinstance(value, bool) else None

    @property
    def speculates(self) -> bool:
        """Speculative decoding was asked for."""
        return self.detective.arguments.get("speculative_algorithm") is not None

    def before(self, version: str) -> bool:
        """The release is older, as far as known."""
        return self.release is None or not self.release.includes(version)


def advise(diagnosis: Diagnosis, detective: Detective, release: Release | None) -> Diagnosis:
    """The diagnosis with the changes that its class suggests."""
    case = Case(detective, diagnosis, release)
    make = _ADVICE.get(diagnosis.failure)
    changes = tuple(change for change in make(case) if change is not None) if make is not None else ()
    words = _WORDS.get(diagnosis.failure, ())
    advised = replace(diagnosis, changes=changes, advice=words)
    if diagnosis.failure == "pool_budget_negative" and not _fraction_helps(case):
        return replace(advised, direction="leave")
    return advised


Maybe = Change | None

_CONSERVATIVE = Change(
    {"schedule-conservativeness": 1.3}, effect="admits fewer requests when the pool fills up", costs="throughput"
)
_OTHER_BACKEND = Change({"attention-backend": "triton"}, effect="runs on all GPUs that Triton knows")


def _requests(case: Case) -> float | None:
    """How many run at once on all replicas: as asked for, or as each has settled."""
    asked, summary = case.number("max_running_requests"), case.detective.figures.summary
    if asked is not None or summary is None or summary.max_running_requests is None:
        return asked
    return summary.max_running_requests * attention_replicas(case.detective.arguments)


def _fewer_requests(case: Case) -> Maybe:
    now = _requests(case)
    if now is None:
        change = Change({"max-running-requests": _FEW_REQUESTS}, effect="fewer requests at once need less")
        return change if case.speculates else None
    fewer = int(min(_FEW_REQUESTS, now // 2))
    if fewer < 1:
        return None
    return Change({"max-running-requests": fewer}, effect=f"{fewer} requests at once instead of {now:.0f}")


def _halve_requests(case: Case) -> Maybe:
    now = _requests(case)
    if not now or now < 2:  # noqa: PLR2004 - one can't be halved
        return None
    return Change({"max-running-requests": int(now // 2)}, effect="fewer requests at once need less")


def _half_states(case: Case) -> Maybe:
    if case.detective.arguments.get("mamba_ssm_dtype") in ("bfloat16", "float16"):
        return None
    return Change({"mamba-ssm-dtype": "bfloat16"}, effect="halves the state", costs="precision of the recurrent state")


def _newer(case: Case) -> Maybe:
    if not case.before(_MENDED):
        return None
    return Change(upgrade=_MENDED, effect="doesn't reserve drafts' states for all allowed requests")


def _newest(case: Case) -> Maybe:
    return Change(upgrade=str(NEWEST_KNOWN), effect="may have it mended") if case.before(str(NEWEST_KNOWN)) else None


def _lower_fraction(case: Case) -> Maybe:
    now = case.number("mem_fraction_static")
    if now is None or now - _STEP < _LOWEST:
        return None
    return Change(
        {"mem-fraction-static": round(now - _STEP, 3)}, effect="leaves more behind the pools", costs="KV cache"
    )


def _fraction_needed(case: Case) -> float | None:
    """The least fraction at which the weights leave anything, with a margin; None where the log doesn't tell."""
    before, after = case.rank.avail_before, case.rank.avail_after
    return None if before is None or after is None or before <= 0 else 1 - after / before + _MARGIN


def _fraction_helps(case: Case) -> bool:
    if case.speculates and case.detective.is_hybrid is not False and case.before(_MENDED):
        return False  # the reserve for drafts' states is what took the room
    needed = _fraction_needed(case)
    return needed is None or needed <= _HIGHEST


def _higher_fraction(case: Case) -> Maybe:
    now, needed = case.number("mem_fraction_static"), _fraction_needed(case)
    if now is None or needed is None or needed > _HIGHEST or not _fraction_helps(case):
        return None
    value = min(round(max(needed + _STEP, now + _MARGIN), 2), _HIGHEST)
    if value <= now:
        return None
    return Change({"mem-fraction-static": value}, effect="gives the pools more of what is free")


def _more_ranks(case: Case) -> Maybe:
    now = int(case.number("tp_size") or 1)
    if (case.number("nnodes") or 1) > 1:  # a launch on each of them would have to change
        return None
    return Change({"tp-size": now * 2}, effect="each GPU loads half as much", costs=f"{now * 2} GPUs instead of {now}")


def _smaller_graphs(case: Case) -> Maybe:
    new_name = case.release is not None and case.release.includes("0.5.20")
    name = "cuda-graph-max-bs-decode" if new_name else "cuda-graph-max-bs"
    now = case.number("cuda_graph_max_bs") or case.detective.figures.bar.last_shape or 2 * _GRAPH_BATCHES[0]
    smaller = next((size for size in _GRAPH_BATCHES if size <= now // 4), 1)
    return Change({name: smaller}, effect="captures fewer and smaller graphs")


def _smaller_chunks(case: Case) -> Maybe:
    now = typed_chunk(case.detective.arguments)
    if now is None or now < 0:
        return Change({"chunked-prefill-size": 4096}, effect="computes long prompts in pieces")
    smaller = next((size for size in _CHUNKS if size < now), None)
    return None if smaller is None else Change({"chunked-prefill-size": smaller}, effect="needs less for a long prompt")


def _small_kv(case: Case) -> Maybe:
    if case.detective.arguments.get("kv_cache_dtype") not in (None, "auto", "bfloat16"):
        return None
    costs = f"precision of the KV cache; {DOUBT}"  # a log doesn't tell the card's
    return Change({"kv-cache-dtype": "fp8_e4m3"}, effect="twice as many tokens", costs=costs)


def _no_radix(case: Case) -> Maybe:
    if case.detective.arguments.get("disable_radix_cache") is True:
        return None
    return Change({"disable-radix-cache": True}, effect="avoids the bookkeeping that failed", costs="reuse of prefixes")


def _smaller_host_cache(case: Case) -> Maybe:
    size = case.number("hicache_size")
    if size:
        return Change({"hicache-size": int(size // 2)}, effect="half the host memory for each rank")
    return Change({"hicache-ratio": 1.1}, effect="less host memory for each rank")


def _pool(case: Case) -> list[Maybe]:
    if case.speculates and case.detective.is_hybrid is not False:
        states = [_half_states(case), _newer(case)] if case.detective.is_hybrid else []
        return [_fewer_requests(case), *states]
    return [_higher_fraction(case), _more_ranks(case)]


_ADVICE: dict[str, Callable[[Case], list[Maybe]]] = {
    "pool_budget_negative": _pool,
    "mamba_budget_negative": lambda case: [_fewer_requests(case), _half_states(case)],
    "mamba_pool_alloc_oom": lambda case: [_fewer_requests(case), _half_states(case)],
    "mamba_slots_exhausted": lambda case: [_halve_requests(case), _half_states(case), _newest(case)],
    "draft_not_budgeted": lambda case: [_lower_fraction(case), _newer(case)],
    "weights_oom": lambda case: [_more_ranks(case)],
    "cuda_graph_oom": lambda case: [_smaller_graphs(case), _lower_fraction(case)],
    "activation_oom": lambda case: [_lower_fraction(case), _smaller_chunks(case), _halve_requests(case)],
    "kv_pool_exhausted": lambda case: [_halve_requests(case), _CONSERVATIVE, _small_kv(case)],
    "context_exceeds_pool": lambda case: [_small_kv(case)],
    "pool_accounting_bug": lambda case: [_newest(case), _no_radix(case)],
    "host_mem_hicache": lambda case: [_smaller_host_cache(case)],
    "attention_backend_unsupported": lambda _: [_OTHER_BACKEND],
    "triton_shared_memory": lambda _: [_OTHER_BACKEND],
    "engine_bug": lambda case: [_newest(case)],
}

_NOT_MEMORY = "advice about memory that SGLang prints near it doesn't apply"
_WORDS: dict[str, tuple[str, ...]] = {
    "weights_oom": ("a quantised checkpoint of the same model, a GPU with more memory, or more GPUs",),
    "gpu_memory_foreign": ("end what holds the memory (`sgltui gpus` shows who), or choose other GPUs",),
    "host_oom": ("see the kernel's log (dmesg) and the cgroup's limit; fewer loader threads or more RAM",),
    "killed_from_outside": ("see the kernel's log (dmesg) for an out-of-memory kill, and who else may end processes",),
    "dev_shm_exhausted": ("free /dev/shm of segments whose owner is gone; in a container give it more (--shm-size)",),
    "http_port_in_use": ("choose another --port, or end what listens on this one",),
    "internal_port_in_use": ("end the server that was left over, or give other ports",),
    "hang_dist_init": ("NCCL_DEBUG=INFO tells where; try NCCL_P2P_DISABLE=1, or name NCCL_SOCKET_IFNAME",),
    "stale_jit_lock": ("remove the lock file when no process compiles any more",),
    "nccl_timeout": ("look for what a rank did so long before; a longer --dist-timeout hides it",),
    "watchdog_timeout": ("a longer --watchdog-timeout helps only where kernels were being compiled",),
    "model_access": ("give HF_TOKEN a token with access, or a folder that is here",),
    "model_files_corrupt": ("check the files' checksums, or download them again",),
    "jit_toolchain_missing": ("install a CUDA toolkit that fits to torch, and let CUDA_HOME name it", _NOT_MEMORY),
    "kernel_image_missing": ("install builds for this GPU", _NOT_MEMORY),
    "driver_mismatch": ("update the driver, or install wheels for an older CUDA", _NOT_MEMORY),
    "triton_shared_memory": ("another MoE or attention backend, or a tuned kernel configuration", _NOT_MEMORY),
    "unknown_flag": ("`sgltui flags` lists what this release takes",),
    "tokenizer_or_template": ("give --chat-template a file, or complete the model's folder",),
    "rank_died_elsewhere": ("look into the log of the rank that didn't report; other nodes have their own",),
}
