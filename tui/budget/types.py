"""What goes into a plan and what comes out of it. Sizes are bytes unless the name says MiB or GiB."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct, field

from tui.budget.rules import Rules, rules_of
from tui.model.shapes import Model
from tui.sglang.parse import Flags
from tui.sglang.versions import Release


class Basis(StrEnum):
    """How a figure is known."""

    MEASURED = "measured"  # from this model's earlier log, or given by the person
    EXACT = "exact"  # SGLang's own arithmetic
    ESTIMATED = "estimated"  # ours, with a range


class Verdict(StrEnum):
    """Whether it will start and serve."""

    FITS = "fits"
    TIGHT = "tight"  # within what the estimates can be wrong
    EXCEEDS = "exceeds"
    UNKNOWN = "unknown"


class Stage(StrEnum):
    """Where a start fails."""

    ARGS = "args"
    WEIGHTS = "weights"
    POOL = "pool"
    DRAFT = "draft"
    GRAPH = "graph"
    RUNTIME = "runtime"


class Card(Struct, frozen=True):
    """One GPU as a launch will find it.

    Attributes:
        index: its number on this machine, or its place among described ones.
        total_mib: as nvidia-smi prints it; None when unknown.
        reserved_bytes: what the driver keeps for itself; None to estimate it.
        used_bytes: what processes hold now.
        capability: CUDA compute capability; None for another maker's card, or an unknown one.
        holders: who holds `used_bytes`, in words.
    """

    index: int
    name: str
    total_mib: int | None
    reserved_bytes: int | None = None
    used_bytes: int = 0
    capability: tuple[int, int] | None = None
    holders: tuple[str, ...] = ()


class Measured(Struct, frozen=True):
    """Figures of an earlier launch that replace the plan's own, in GiB as logs print them; None where there is none.

    Attributes:
        available_gib: free memory before the weights, on the fullest rank.
        weights_gib: free memory before minus free memory after the weights.
        draft_weights_gib: likewise of the draft model; unified memory may make it negative.
    """

    available_gib: float | None = None
    weights_gib: float | None = None
    draft_weights_gib: float | None = None


class PlanRequest(Struct, frozen=True):
    """What a plan is made from.

    Attributes:
        draft: the model behind `--speculative-draft-model-path`, where it was read.
        cards: one for each rank on this machine, in rank order.
        smallest_total_mib: the smallest card that nvidia-smi shows, chosen or not; None when unknown.
        environment: SGLANG_* variables that the server will have.
        knows_all_flags: the release's own inventory was read, so that a flag it lacks is refused.
    """

    model: Model
    flags: Flags
    release: Release
    cards: tuple[Card, ...]
    smallest_total_mib: int | None
    draft: Model | None = None
    measured: Measured = field(default_factory=Measured)
    environment: Mapping[str, str] = field(default_factory=dict)

    knows_all_flags: bool = True

    @property
    def rules(self) -> Rules:
        """Of its release."""
        return rules_of(self.release)

    @property
    def capability(self) -> tuple[int, int] | None:
        """CUDA compute capability of the first card; SGLang asks only that one."""
        return self.cards[0].capability if self.cards else None

    def is_set(self, variable: str, *, default: bool = False) -> bool:
        """A switch of the environment, as SGLang reads it."""
        text = self.environment.get(variable)
        return default if text is None else text.strip().lower() in ("1", "true", "yes", "y", "on")


class BudgetItem(Struct, frozen=True):
    """One use of a GPU's memory.

    Attributes:
        formula: where the figure comes from, in words and numbers.
    """

    component: str
    size: int
    low: int
    high: int
    basis: Basis
    formula: str


class TimelinePoint(Struct, frozen=True):
    """Free memory once a stage is over; `low` if everything estimated turns out large."""

    stage: str
    free: int
    low: int
    high: int
    fails_as: Stage


class RankBudget(Struct, frozen=True):
    """One GPU's share. `items` add up to what is used at the end, `timeline` goes from the start to serving."""

    gpu: int
    total: int
    items: tuple[BudgetItem, ...]
    timeline: tuple[TimelinePoint, ...]


class StateCache(Struct, frozen=True):
    """Recurrent state, as SGLang sizes and logs it.

    Attributes:
        slots: K, without the slot that is never used; negative where the arithmetic says so, None before it is known.
        reserve: taken from the pool for drafts' states before anything else.
        conv, ssm: allocated for slots, the unused one included.
    """

    slots: int | None
    slot_bytes: int
    slots_per_request: int
    strategy: str
    conv: int
    ssm: int
    reserve: int
    intermediate_ssm: int
    intermediate_conv: int

    @property
    def allocated(self) -> int:
        """All of it."""
        return self.conv + self.ssm + self.intermediate_ssm + self.intermediate_conv


class KvCache(Struct, frozen=True):
    """The KV cache of the target model.

    Attributes:
        bytes_per_token: what is stored of one token, in layers of full attention where there are others.
        cell_bytes: what sizing charges for a token, draft layers and sliding-window share included.
        tokens: capacity; zero or less where it can't start, None before anything was sized.
        keys, values: allocated, one page of padding included; `latent` instead of both for MLA.
    """

    bytes_per_token: int
    cell_bytes: float
    tokens: int | None
    keys: int | None
    values: int | None
    latent: int | None
    sliding_tokens: int | None = None
    sliding_keys: int | None = None
    sliding_values: int | None = None

    @property
    def allocated(self) -> int:
        """All of it."""
        parts = (self.keys, self.values, self.latent, self.sliding_keys, self.sliding_values)
        return sum(part for part in parts if part is not None)


class FlagChange(Struct, frozen=True):
    """A single change that alters the verdict, found by planning again with it.

    Attributes:
        set: flags with their new values, as words.
        unset: flags to leave out.
        upgrade: the release to go to.
        effect: what the plan says with it.
        costs: what is given up.
    """

    set: Mapping[str, str]
    unset: tuple[str, ...]
    upgrade: str | None
    verdict: Verdict
    effect: str
    costs: str


class MemoryBudget(Struct, frozen=True):
    """The answer. Scalars are of the worst rank; None where a figure isn't known or wasn't reached.

    Attributes:
        reason: one sentence with the numbers.
        expected_error: what SGLang would log.
        rest: what all static pools share, before recurrent state is taken from it.
    """

    model: str
    release: str
    cards: tuple[Card, ...]
    verdict: Verdict
    stage_of_failure: Stage | None
    reason: str
    expected_error: str | None
    fraction: float | None = None
    available: int | None = None
    rest: int | None = None
    weights: int | None = None
    load_overhead: int | None = None
    draft_weights: int | None = None
    state: StateCache | None = None
    kv: KvCache | None = None
    max_running_requests: int | None = None
    chunked_prefill_size: int | None = None
    cuda_graph_max_bs: int | None = None
    context_length: int | None = None
    ranks: tuple[RankBudget, ...] = ()
    changes: tuple[FlagChange, ...] = ()
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
