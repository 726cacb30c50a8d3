"""What would give a running server more of what it lacks, and what that costs: by the plan with each change."""

from __future__ import annotations

from collections.abc import Iterator

from tui.budget.changes import Candidate, apply_change
from tui.budget.fp8_cache import DOUBT, reads_fp8_cache
from tui.budget.parallel import read_parallel
from tui.budget.plan import plan
from tui.budget.refusal import RefusedLaunch
from tui.budget.types import FlagChange, MemoryBudget, PlanRequest, Verdict
from tui.budget.words import count, describe_capacity

_REQUESTS = "max-running-requests"
_STATE_RATIO = 0.9  # --mamba-full-memory-ratio, unless given
_FRACTIONS = tuple(step / 100 for step in range(98, 30, -1))
_QUARTERS = (8, 6, 5)  # of what there is now: twice as much, half as much again, a quarter more


def more_slots(request: PlanRequest) -> tuple[FlagChange, ...]:
    """Changes after which more requests have a state slot."""
    now = plan(request)
    candidates = _without("max-mamba-cache-size", request)
    if request.model.state is None or now.max_running_requests is None:
        return ()
    if request.flags.get("mamba-ssm-dtype") not in ("bfloat16", "float16"):
        candidates.append(Candidate(set={"mamba-ssm-dtype": "bfloat16"}, costs="precision of the recurrent state"))
    ratio = float(request.flags.get("mamba-full-memory-ratio") or _STATE_RATIO)
    candidates.append(Candidate(set={"mamba-full-memory-ratio": round(2 * ratio, 2)}))
    candidates += _higher_fractions(now)
    return _offered(request, now, iter([*candidates, *_more_requests(request, now)]), "max_running_requests")


def more_kv(request: PlanRequest) -> tuple[FlagChange, ...]:
    """Changes after which the KV cache holds more tokens."""
    now = plan(request)
    candidates = [*_without("max-total-tokens", request), *_higher_fractions(now)]
    if request.flags.get("kv-cache-dtype") in (None, "auto", "bfloat16"):
        candidates += _smaller_kv(request)
    if request.model.state is not None and now.max_running_requests:
        candidates.append(_allow(request, max(1, now.max_running_requests // 2)))
    return _offered(request, now, iter(candidates), "tokens")


def _smaller_kv(request: PlanRequest) -> list[Candidate]:
    """None where the card can't read it; where that isn't known, the price says so."""
    works = reads_fp8_cache(request)
    if works is False:
        return []
    costs = "precision of the KV cache" if works else f"precision of the KV cache; {DOUBT}"
    return [Candidate(set={"kv-cache-dtype": "fp8_e4m3"}, costs=costs)]


def more_requests(request: PlanRequest) -> tuple[FlagChange, ...]:
    """Changes after which more requests may run at once."""
    now = plan(request)
    return _offered(request, now, iter(_more_requests(request, now)), "max_running_requests")


def _more_requests(request: PlanRequest, now: MemoryBudget) -> list[Candidate]:
    running = now.max_running_requests or 0
    more = [running * quarters // 4 for quarters in _QUARTERS]
    return [_allow(request, value) for value in more if value > running]


def _allow(request: PlanRequest, requests: int) -> Candidate:
    """So many requests at once on each attention replica; the flag counts those of all."""
    try:
        replicas = read_parallel(request.flags).attention_dp
    except RefusedLaunch:  # then no plan fits
        replicas = 1
    return Candidate(set={_REQUESTS: requests * replicas}, serves=requests)


def _without(cap: str, request: PlanRequest) -> list[Candidate]:
    """Where somebody has set a cap, SGLang takes what there is without it."""
    return [Candidate(unset=(cap,))] if request.flags.get(cap) is not None else []


def _higher_fractions(now: MemoryBudget) -> list[Candidate]:
    given = now.fraction
    higher = [] if given is None else [fraction for fraction in _FRACTIONS if fraction > given]
    costs = "room for graphs and activations"
    return [Candidate(set={"mem-fraction-static": fraction}, costs=costs) for fraction in higher]


def _offered(
    request: PlanRequest, now: MemoryBudget, candidates: Iterator[Candidate], gains: str
) -> tuple[FlagChange, ...]:
    """The first of each flag that fits and brings more."""
    found: dict[frozenset[str], FlagChange] = {}
    for offered in candidates:
        candidate = offered
        flags = frozenset((*candidate.set, *candidate.unset))
        if flags in found:
            continue
        then = plan(apply_change(request, candidate))
        served = then.max_running_requests
        if served and candidate.serves is not None and candidate.serves > served:  # for more, memory is kept for nobody
            candidate = _allow(request, served)
            then = plan(apply_change(request, candidate))
        if then.verdict is Verdict.FITS and _amount(then, gains) > _amount(now, gains):
            found[flags] = _priced(candidate, now, then)
    return tuple(found.values())


def _amount(budget: MemoryBudget, what: str) -> int:
    if what == "tokens":
        return budget.kv.tokens or 0 if budget.kv is not None else 0
    return budget.max_running_requests or 0


def _priced(candidate: Candidate, now: MemoryBudget, then: MemoryBudget) -> FlagChange:
    """What it gives up: its own price, and what the plan says is less than now."""
    costs = [candidate.costs] if candidate.costs else []
    before, after = _amount(now, "tokens"), _amount(then, "tokens")
    if after < before:
        costs.append(f"{count(before - after)} of {count(before)} tokens of KV cache")
    fewer = _amount(now, "requests") - _amount(then, "requests")
    if fewer > 0:
        costs.append(f"{fewer} of {_amount(now, 'requests')} requests at once")
    words = {name: f"{value:g}" if isinstance(value, float) else str(value) for name, value in candidate.set.items()}
    price = ", ".join(costs) or "nothing"
    return FlagChange(words, candidate.unset, None, then.verdict, describe_capacity(then), price)
