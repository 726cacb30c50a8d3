"""The budget of a launch that was logged: what it was asked for and what it measured, planned again.

Where the plan ends as the log did, its reason has the numbers, and its changes are tried ones. Where it doesn't, the
plan is wrong about this machine, and nothing of it is told.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from tui.budget.changes import find_changes
from tui.budget.parallel import read_parallel
from tui.budget.plan import plan
from tui.budget.refusal import RefusedLaunch
from tui.budget.types import Card, FlagChange, Measured, MemoryBudget, PlanRequest, Stage, Verdict
from tui.diagnosis.classes import Direction
from tui.diagnosis.detective import Detective
from tui.diagnosis.diagnosis import Change, Diagnosis, FlagValue
from tui.diagnosis.server_args import Value, flag_values, typed_chunk
from tui.diagnosis.words import make_sentence
from tui.model.shapes import Model
from tui.sglang.parse import Flags
from tui.sglang.versions import Release, parse_release
from tui.units import GIB, MIB

# Where the plan fails if it fails as the log did.
_STAGES: dict[str, frozenset[Stage]] = {
    "pool_budget_negative": frozenset({Stage.POOL}),
    "mamba_budget_negative": frozenset({Stage.POOL}),
    "mamba_pool_alloc_oom": frozenset({Stage.POOL, Stage.DRAFT}),
    "draft_not_budgeted": frozenset({Stage.DRAFT}),
    "weights_oom": frozenset({Stage.WEIGHTS}),
    "cuda_graph_oom": frozenset({Stage.GRAPH, Stage.RUNTIME, Stage.DRAFT}),
    "activation_oom": frozenset({Stage.RUNTIME, Stage.GRAPH, Stage.DRAFT}),
}
_LATE = frozenset({"draft_not_budgeted", "cuda_graph_oom", "activation_oom"})
_OWN = ("host", "port", "tokenizer-path", "served-model-name", "random-seed", "nccl-port")
_FRACTION = "mem-fraction-static"
_UNSEEN_BYTES = int(1.5 * GIB)  # driver and context, where only the free memory was logged


def has_arithmetic(diagnosis: Diagnosis) -> bool:
    """Whether a budget can say more about it."""
    return diagnosis.failure in _STAGES and diagnosis.model is not None


def request_of(detective: Detective, model: Model, release: Release, card_mib: int | None = None) -> PlanRequest | None:
    """The launch as the planner sees it; None where the log doesn't tell what was free.

    `card_mib` is the GPU's size, where it is known; the log doesn't tell.
    """
    least, rank = detective.figures.least_before, detective.figures.fullest
    if least is None:
        return None
    flags = Flags(_flags(detective))
    total = card_mib or (int(least[1] * GIB) + _UNSEEN_BYTES) // MIB
    cards = tuple(Card(index, "the GPU", total, reserved_bytes=0) for index in range(_local_ranks(flags)))
    return PlanRequest(
        model=model,
        flags=flags,
        release=release,
        cards=cards,
        smallest_total_mib=total,
        measured=Measured(least[1], rank.weights, rank.draft_weights),
        knows_all_flags=False,
    )


def _local_ranks(flags: Flags) -> int:
    """On the machine whose log it is; one where they don't go together, which the plan then says."""
    try:
        return read_parallel(flags).local_ranks
    except RefusedLaunch:
        return 1


def _flags(detective: Detective) -> dict[str, Value]:
    """What was settled, less what SGLang itself chose where the plan has to know that it chose."""
    arguments = dict(detective.arguments)
    if any(finding.id == "requests-default" for finding in detective.findings):
        arguments.pop("max_running_requests", None)
    if (chunk := typed_chunk(arguments)) is not None:
        arguments["chunked_prefill_size"] = chunk
    if arguments.get("speculative_draft_model_path") == arguments.get("model_path"):
        arguments.pop("speculative_draft_model_path", None)
    values = flag_values({name: value for name, value in arguments.items() if value != "auto"})
    return {name: value for name, value in values.items() if name not in _OWN}


def work_out(diagnosis: Diagnosis, request: PlanRequest) -> Diagnosis:
    """The diagnosis with the budget's numbers and changes, where it ends as the log did."""
    budget = plan(request)
    if not _agrees(diagnosis, budget):
        return diagnosis
    budget = replace(budget, changes=find_changes(request, budget))
    changes = tuple(_change(change) for change in _in_order(diagnosis, budget))
    reason = f"{diagnosis.reason}. {make_sentence(budget.reason)}"
    notes = [make_sentence(note) for note in budget.notes if "request" in note or "state" in note or "fraction" in note]
    return replace(
        diagnosis,
        reason=" ".join([reason, *notes]),
        changes=changes or diagnosis.changes,
        direction=_direction(diagnosis, budget),
        memory=_with_plan(diagnosis.memory, budget),
    )


def _agrees(diagnosis: Diagnosis, budget: MemoryBudget) -> bool:
    if budget.verdict is Verdict.TIGHT:
        return diagnosis.failure in _LATE
    return budget.verdict is Verdict.EXCEEDS and budget.stage_of_failure in _STAGES[diagnosis.failure]


def _in_order(diagnosis: Diagnosis, budget: MemoryBudget) -> list[FlagChange]:
    """A fraction is never the first thing to change where something else took the room, nor against the direction."""
    wrong_way = diagnosis.failure in _LATE
    kept = [change for change in budget.changes if not (wrong_way and _raises(change, budget))]
    takes_room = budget.state is not None and budget.state.reserve > 0
    return sorted(kept, key=lambda change: takes_room and _FRACTION in change.set)


def _raises(change: FlagChange, budget: MemoryBudget) -> bool:
    value = change.set.get(_FRACTION)
    return value is not None and budget.fraction is not None and float(value) > budget.fraction


def _direction(diagnosis: Diagnosis, budget: MemoryBudget) -> Direction | None:
    if diagnosis.failure not in ("pool_budget_negative", "mamba_budget_negative"):
        return diagnosis.direction
    reserve = budget.state.reserve if budget.state is not None else 0
    return "up" if not reserve and any(_raises(change, budget) for change in budget.changes) else "leave"


def _change(change: FlagChange) -> Change:
    values = {name: typed(value) for name, value in change.set.items()}
    return Change(values, change.unset, change.upgrade, change.effect, change.costs)


def typed(text: str) -> FlagValue:
    """A flag's value as JSON has it: numbers as numbers, a switch as true."""
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _with_plan(memory: Mapping[str, object], budget: MemoryBudget) -> dict[str, object]:
    """The log's figures, with what only the arithmetic tells."""
    figures = dict(memory)
    if budget.rest is not None:
        figures["rest_gib"] = round(budget.rest / GIB, 2)
    if budget.stage_of_failure is Stage.WEIGHTS:
        figures["short_gib"] = _short_gib(budget)
    if budget.state is not None:
        logged = figures.get("mamba")
        figures["mamba"] = {
            **(logged if isinstance(logged, dict) else {}),
            "slot_bytes": budget.state.slot_bytes,
            "slots_per_request": budget.state.slots_per_request,
            "reserve_gib": round(budget.state.reserve / GIB, 2),
        }
    return figures


def _short_gib(budget: MemoryBudget) -> float | None:
    """What is missing at the tightest moment of the worst rank."""
    least = min((point.free for rank in budget.ranks for point in rank.timeline), default=0)
    return round(-least / GIB, 2) if least < 0 else None


def release_of(diagnosis: Diagnosis) -> Release | None:
    """The release, as told or as its lines look."""
    text = diagnosis.release or diagnosis.assumed_release
    return None if text is None else parse_release(text)
