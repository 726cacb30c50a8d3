"""Single changes that alter the verdict, found by planning again with each: a person picks one and it holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from tui.budget.parallel import read_parallel
from tui.budget.plan import plan
from tui.budget.refusal import CannotTell, RefusedLaunch
from tui.budget.rules import StateSplit
from tui.budget.settings import Settings, resolve_settings
from tui.budget.strategy import EXTRA_BUFFER, NO_BUFFER, STRATEGY_FLAGS
from tui.budget.types import Card, FlagChange, MemoryBudget, PlanRequest, Stage, Verdict
from tui.budget.words import describe_capacity, number_or_word
from tui.sglang import references
from tui.sglang.meant import find_meant
from tui.sglang.parse import Flags
from tui.sglang.target import recorded_target
from tui.sglang.versions import NEWEST_KNOWN, parse_release

FlagValue = str | int | float | bool | tuple[str, ...]

_MOST_OFFERED = 6
_FEWER_REQUESTS = (256, 128, 96, 64, 48, 32, 24, 16, 12, 8, 6, 4, 2, 1)
_FRACTIONS = tuple(step / 100 for step in range(98, 29, -1))
_CHUNKS = (8192, 4096, 2048, 1024)
_BATCHES = (128, 64, 32, 16, 8)
_SPECULATIVE = (
    "speculative-algorithm",
    "speculative-num-steps",
    "speculative-eagle-topk",
    "speculative-num-draft-tokens",
    "speculative-draft-model-path",
)
_USEFUL_TOKENS = 2048
_MENDED = "0.5.13"  # the release without the fixed reservation for drafts


class Candidate(Struct, frozen=True):
    """A change that may help: values to set by flag, flags to leave out, or a release.

    Attributes:
        costs: what it gives up; empty: nothing.
        serves: requests that shall really run at once with it; more than can run is memory kept for nobody.
    """

    set: Mapping[str, FlagValue] = field(default_factory=dict)
    unset: tuple[str, ...] = ()
    upgrade: str | None = None
    costs: str = ""
    serves: int | None = None

    def joined(self, other: Candidate) -> Candidate:
        """Both at once."""
        return Candidate(
            set={**self.set, **other.set},
            unset=(*self.unset, *(name for name in other.unset if name not in self.set)),
            upgrade=other.upgrade or self.upgrade,
            costs=", ".join(filter(None, (self.costs, other.costs))),
            serves=other.serves,
        )


def find_changes(request: PlanRequest, budget: MemoryBudget) -> tuple[FlagChange, ...]:
    """Changes that make it fit (or at least start), cheapest first; none when it fits or can't be told.

    Single ones; two at once only where no single one helps.
    """
    if budget.verdict in (Verdict.FITS, Verdict.UNKNOWN):
        return ()
    found = _offer(request, budget, _families(request, budget))
    return found or _offer(request, budget, _pairs(request, budget))


def _offer(
    request: PlanRequest, budget: MemoryBudget, families: Iterator[Iterator[Candidate]]
) -> tuple[FlagChange, ...]:
    """The best of each family, those that fit first."""
    found = [change for family in families if (change := _best(request, budget, family)) is not None]
    found.sort(key=lambda change: change.verdict is not Verdict.FITS)
    return tuple(found[:_MOST_OFFERED])


def apply_change(request: PlanRequest, change: FlagChange | Candidate) -> PlanRequest:
    """The request with a change made: what `find_changes` has planned."""
    values = {name: value for name, value in request.flags.values.items() if name not in change.unset}
    for name, value in change.set.items():
        values[name] = _parsed(value)
    # A refused word that is replaced or left out is refused no more.
    gone = {*change.unset, *change.set}
    troubles = tuple(trouble for trouble in request.flags.troubles if trouble.option.lstrip("-") not in gone)
    release = request.release if change.upgrade is None else parse_release(change.upgrade)
    changed = replace(request, flags=Flags(values, troubles), release=release)
    return replace(changed, cards=_enough_cards(changed))


def _parsed(value: FlagValue) -> Any:
    """As the parser would have read it."""
    if isinstance(value, tuple):
        return tuple(map(number_or_word, value))
    return number_or_word(value) if isinstance(value, str) else value


def _enough_cards(request: PlanRequest) -> tuple[Card, ...]:
    """As many cards of this machine as the flags need; more ones are like those that are there."""
    cards = request.cards
    try:
        missing = read_parallel(request.flags).local_ranks - len(cards)
    except RefusedLaunch:  # the plan then says why
        return cards
    return cards + tuple(
        replace(cards[0], index=cards[-1].index + 1 + extra) for extra in range(missing if cards else 0)
    )


def _best(request: PlanRequest, budget: MemoryBudget, family: Iterator[Candidate]) -> FlagChange | None:
    """The first of a family that fits and serves what it promises; else one that fits; else one that starts."""
    fits = starts = None
    for candidate in family:
        outcome = plan(apply_change(request, candidate))
        if not _is_of_use(outcome):
            continue
        change = _describe(candidate, outcome)
        if outcome.verdict is Verdict.FITS:
            if candidate.serves in (None, outcome.max_running_requests):
                return change
            fits = fits or change
        elif outcome.verdict is Verdict.TIGHT and budget.verdict is Verdict.EXCEEDS:
            starts = starts or change
    return fits or starts


def _is_of_use(outcome: MemoryBudget) -> bool:
    """It starts, and one request of some length can be served."""
    tokens = outcome.kv.tokens if outcome.kv is not None else None
    return outcome.verdict in (Verdict.FITS, Verdict.TIGHT) and tokens is not None and tokens >= _USEFUL_TOKENS


def _describe(candidate: Candidate, outcome: MemoryBudget) -> FlagChange:
    capacity = describe_capacity(outcome)
    words = {name: _word(value) for name, value in candidate.set.items()}
    costs = candidate.costs or "nothing"
    return FlagChange(words, candidate.unset, candidate.upgrade, outcome.verdict, capacity, costs)


def _word(value: FlagValue) -> str:
    if isinstance(value, tuple):
        return " ".join(value)
    return "true" if value is True else f"{value:g}" if isinstance(value, float) else str(value)


def _families(request: PlanRequest, budget: MemoryBudget) -> Iterator[Iterator[Candidate]]:
    """Families of candidates, in the order of what they cost a person."""
    if budget.stage_of_failure is Stage.ARGS:
        yield from (iter([candidate]) for candidate in _mends(request))
        return
    try:
        settings = resolve_settings(request)
    except (RefusedLaunch, CannotTell):
        return
    late = budget.stage_of_failure in (Stage.DRAFT, Stage.GRAPH, Stage.RUNTIME) or budget.verdict is Verdict.TIGHT
    if late:
        yield _lower_fraction(settings)
        yield _smaller_chunks(settings)
        yield _smaller_graphs(request, settings)
    yield _fewer_requests(settings, budget)
    if request.model.state is not None:
        yield _smaller_states(request)
        yield _upgrade(request)
    yield _no_speculation(request)
    if budget.stage_of_failure is Stage.WEIGHTS:
        yield _whole_experts(request, settings)
    if not late:
        yield _higher_fraction(settings)
    yield _more_ranks(request, settings)


def _pairs(request: PlanRequest, budget: MemoryBudget) -> Iterator[Iterator[Candidate]]:
    """A mend or smaller states, each with what helps after it."""
    firsts = _mends(request) if budget.stage_of_failure is Stage.ARGS else _smaller_states(request)
    for first in firsts:
        changed = apply_change(request, first)
        outcome = plan(changed)
        if outcome.verdict is Verdict.EXCEEDS and outcome.stage_of_failure is not Stage.ARGS:
            # Flags that were put right for this release have other names in another one.
            is_put_right = bool(first.set) and bool(request.flags.troubles)
            for family in _families(changed, outcome):
                yield (first.joined(second) for second in family if not (second.upgrade and is_put_right))


def _fewer_requests(settings: Settings, budget: MemoryBudget) -> Iterator[Candidate]:
    now = settings.requests or budget.max_running_requests
    for requests in _FEWER_REQUESTS:
        if now is not None and requests < now:
            costs = f"{now - requests} of {now} requests at once"
            asked = requests * settings.parallel.attention_dp
            yield Candidate(set={"max-running-requests": asked}, costs=costs, serves=requests)


def _smaller_states(request: PlanRequest) -> Iterator[Candidate]:
    if request.flags.get("mamba-ssm-dtype") not in ("bfloat16", "float16"):
        yield Candidate(set={"mamba-ssm-dtype": "bfloat16"}, costs="precision of the recurrent state")


def _upgrade(request: PlanRequest) -> Iterator[Candidate]:
    if request.rules.split is not StateSplit.JOINT:
        for release in (_MENDED, str(NEWEST_KNOWN)):
            yield Candidate(upgrade=release, costs="an upgrade of SGLang")


def _lower_fraction(settings: Settings) -> Iterator[Candidate]:
    for fraction in _FRACTIONS:
        if fraction < settings.fraction:
            yield Candidate(set={"mem-fraction-static": fraction}, costs="KV cache")


def _higher_fraction(settings: Settings) -> Iterator[Candidate]:
    for fraction in reversed(_FRACTIONS):
        if fraction > settings.fraction:
            yield Candidate(set={"mem-fraction-static": fraction}, costs="room for graphs and activations")


def _smaller_chunks(settings: Settings) -> Iterator[Candidate]:
    for chunk in _CHUNKS:
        if chunk < settings.chunk:
            yield Candidate(set={"chunked-prefill-size": chunk}, costs="speed of long prompts")


def _smaller_graphs(request: PlanRequest, settings: Settings) -> Iterator[Candidate]:
    name = "cuda-graph-max-bs-decode" if request.release.includes("0.5.20") else "cuda-graph-max-bs"
    typed = _typed_among(request, ("cuda-graph-bs", "cuda-graph-bs-decode"))
    for batch in _BATCHES:
        if settings.graphs.decode and batch < settings.graphs.largest_batch:
            yield Candidate(set={name: batch}, unset=typed, costs=f"graphs for more than {batch} requests at once")


def _typed_among(request: PlanRequest, names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in names if name in request.flags.values)


def _no_speculation(request: PlanRequest) -> Iterator[Candidate]:
    given = tuple(name for name in request.flags.values if name.startswith("speculative-"))
    if "speculative-algorithm" in given:
        yield Candidate(unset=given, costs="the speed of speculative decoding")


def _more_ranks(request: PlanRequest, settings: Settings) -> Iterator[Candidate]:
    """More ranks, on more cards like these."""
    ranks = settings.parallel.tensor
    if ranks == len(request.cards) and settings.parallel.nodes == 1:
        for factor in (2, 4, 8):
            yield Candidate(set={"tp-size": factor * ranks}, costs=f"{factor * ranks} GPUs instead of {ranks}")


def _whole_experts(request: PlanRequest, settings: Settings) -> Iterator[Candidate]:
    """Experts that can't be cut are given out whole."""
    parallel = settings.parallel
    if request.model.experts is not None and parallel.tensor > parallel.expert:
        yield Candidate(set={"ep-size": parallel.tensor}, costs="evenness: a rank's load follows its experts")


def _mends(request: PlanRequest) -> Iterator[Candidate]:
    """What may turn a refused command line into one that is taken, what costs nothing first."""
    if request.flags.troubles:
        yield _without_troubles(request)
    name = STRATEGY_FLAGS[0] if request.rules.auto_strategy == EXTRA_BUFFER else STRATEGY_FLAGS[1]
    if request.model.state is not None and request.rules.strategies:
        yield Candidate(
            set={name: EXTRA_BUFFER}, unset=("disable-radix-cache",), costs="two more state slots a request"
        )
        yield Candidate(set={"disable-radix-cache": True}, unset=STRATEGY_FLAGS, costs="reuse of prefixes")
        if request.flags.get(*STRATEGY_FLAGS) == NO_BUFFER:
            yield Candidate(set={"disable-overlap-schedule": True}, costs="the overlap of scheduling and compute")


def _without_troubles(request: PlanRequest) -> Candidate:
    """What the parser refuses as the release calls it, with its value; left out where that isn't known.

    All of it at once: a launch is refused as long as any of it is there.
    """
    target, mend = recorded_target(request.release), Candidate()
    for trouble in request.flags.troubles:
        name, meant = trouble.option.lstrip("-"), find_meant(trouble, target)
        new = {key: _plain(value) for key, value in (meant or {}).items()}
        mend = mend.joined(Candidate(set=new, unset=(name,), costs=f"--{name}" if meant is None else ""))
    return mend


def _plain(value: references.FlagValue) -> FlagValue:
    assert not isinstance(value, references.Reference)  # noqa: S101 - only a preset has such
    return tuple(map(str, value)) if isinstance(value, list) else value
