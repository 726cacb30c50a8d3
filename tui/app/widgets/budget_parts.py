"""A GPU's budget as the few parts that a bar and a table show: what belongs together is one part with one letter."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from tui.app.holders import FOREIGN, RESERVED
from tui.budget.types import Basis, BudgetItem, MemoryBudget, RankBudget, Stage
from tui.units import format_gib


class Kind(Struct, frozen=True):
    """What parts there are, in the order of the bar.

    Attributes:
        style: a colour variable of the theme.
        help: what it is, for the help screen.
        components: names of the budget items that it stands for.
    """

    sign: str
    name: str
    style: str
    help: str
    components: tuple[str, ...]


class Part(Struct, frozen=True):
    """One part of one GPU's budget, in bytes.

    Attributes:
        name: the kind's, or its own.
        basis: of its least certain item.
        reason: where its figure comes from.
    """

    kind: Kind
    name: str
    size: int
    low: int
    high: int
    basis: Basis
    reason: str


class Fill(Struct, frozen=True):
    """How a budget fills one GPU, in bytes.

    Attributes:
        gpus: indices of the GPUs that are filled like this.
        parts: what is needed, in the order of the bar.
        limit: up to where it may be filled: the whole card, or what is left when something is kept out of the pools.
        short: what is needed beyond the limit.
        free: what of the card is behind all that is needed.
    """

    gpus: tuple[int, ...]
    rank: RankBudget
    parts: tuple[Part, ...]
    limit: int
    short: int
    free: int

    @property
    def needed(self) -> int:
        """All parts together."""
        return sum(part.size for part in self.parts)

    @property
    def kept(self) -> BudgetItem | None:
        """What `--mem-fraction-static` keeps out of pools that can't be made for that."""
        if self.limit == self.rank.total:
            return None
        return next(item for item in self.rank.items if item.component == KEPT)


KEPT = "kept out of the pools"
_DRAFT = Kind("D", "draft weights", "$holder-2", "the draft model's weights", ("draft weights",))
KINDS = (
    Kind(
        RESERVED,
        "driver",
        "$reserved",
        "reserved by driver and firmware",
        ("reserved by the driver", "driver, context, other processes"),
    ),
    Kind(FOREIGN, "other processes", "$foreign", "what others hold now", ("other processes",)),
    Kind(
        "C",
        "context, loading",
        "$part-7",
        "CUDA context, communicators, what loading takes beyond the weights",
        ("CUDA context and first kernels", "NCCL", "load overhead"),
    ),
    Kind("W", "weights", "$holder-1", "the model's weights", ("weights",)),
    _DRAFT,
    Kind("S", "state slots", "$holder-3", "recurrent state of requests and of the prefix cache", ("state slots",)),
    Kind(
        "R",
        "state for drafts",
        "$holder-4",
        "recurrent state reserved for draft tokens",
        ("state for drafts", "state reserve for drafts"),
    ),
    Kind("K", "KV cache", "$holder-5", "the KV cache", ("KV cache", "KV cache, sliding window")),
    Kind("k", "draft KV cache", "$part-8", "the draft model's KV cache", ("draft KV cache",)),
    Kind("G", "CUDA graphs", "$holder-6", "captured CUDA graphs", ("decode graphs", "prefill graphs", "draft graphs")),
    Kind(
        "A",
        "activations",
        "$part-9",
        "activations of a prefill chunk, workspace, kernels loaded later",
        ("attention workspace", "activations", "kernels loaded later", "request table"),
    ),
)
_BY_COMPONENT = {component: kind for kind in KINDS for component in kind.components}
_UNCERTAINTY = (Basis.EXACT, Basis.MEASURED, Basis.ESTIMATED)


def fills_of(budget: MemoryBudget) -> list[Fill]:
    """How each GPU is filled; GPUs that are filled alike are one entry, the fullest first among equals in size."""
    found: dict[tuple[int, tuple[BudgetItem, ...]], list[RankBudget]] = {}
    for rank in budget.ranks:
        found.setdefault((rank.total, rank.items), []).append(rank)
    return [_fill(budget, ranks) for ranks in found.values()]


def fullest(fills: Sequence[Fill]) -> Fill:
    """The one that runs out of room first."""
    return min(fills, key=lambda fill: min((point.free for point in fill.rank.timeline), default=fill.free))


def parts_of(items: Iterable[BudgetItem]) -> tuple[Part, ...]:
    """Items by kind; an item of a kind of its own stands at the end."""
    by_kind: dict[Kind, list[BudgetItem]] = {kind: [] for kind in KINDS}
    for item in items:
        if item.high:
            by_kind.setdefault(_kind_of(item), []).append(item)
    return tuple(_part(kind, together) for kind, together in by_kind.items() if together)


def each_item(fill: Fill) -> tuple[Part, ...]:
    """Every item of a fill as a part of its own, by its own name, in the order of the kinds."""
    items = sorted((item for item in fill.rank.items if item.high and item.component != KEPT), key=_order)
    alone = [replace(_part(_kind_of(item), [item]), name=item.component) for item in items]
    return (*alone, *_passing(fill.rank, alone))


def _order(item: BudgetItem) -> int:
    kind = _kind_of(item)
    return KINDS.index(kind) if kind in KINDS else len(KINDS)


def _kind_of(item: BudgetItem) -> Kind:
    return _BY_COMPONENT.get(item.component) or Kind("+", item.component, "$part-9", "", (item.component,))


def _part(kind: Kind, items: Sequence[BudgetItem]) -> Part:
    return Part(
        kind=kind,
        name=kind.name,
        size=sum(item.size for item in items),
        low=sum(item.low for item in items),
        high=sum(item.high for item in items),
        basis=max((item.basis for item in items), key=_UNCERTAINTY.index),
        reason=items[0].formula if len(items) == 1 else _shares(items),
    )


def _shares(items: Iterable[BudgetItem]) -> str:
    """`decode graphs 0.9, draft graphs 0.3`; the largest first."""
    by_size = sorted(items, key=lambda item: item.size, reverse=True)
    return ", ".join(f"{item.component} {format_gib(item.size)}" for item in by_size)


def _fill(budget: MemoryBudget, ranks: Sequence[RankBudget]) -> Fill:
    rank = ranks[0]
    # Where the weights themselves don't fit, nobody gets as far as keeping something out of the pools.
    items = [item for item in rank.items if item.component != KEPT]
    kept = sum(item.size for item in rank.items) - sum(item.size for item in items)
    limit = rank.total - (0 if budget.stage_of_failure is Stage.WEIGHTS else kept)
    held = parts_of(items)
    parts = (*held, *_passing(rank, held))
    needed = sum(part.size for part in parts)
    short = max(0, needed - limit)
    return Fill(tuple(one.gpu for one in ranks), rank, parts, limit, short, max(0, rank.total - needed))


def _passing(rank: RankBudget, held: Iterable[Part]) -> tuple[Part, ...]:
    """What a start needs for a while and gives back, where the card is too small for just that: of a draft model."""
    tightest = min(rank.timeline, key=lambda point: point.free, default=None)
    if tightest is None or tightest.free >= 0 or tightest.fails_as is not Stage.DRAFT:
        return ()
    more = rank.total - tightest.free - sum(part.size for part in held)
    if more <= 0:
        return ()
    words = f"beside all that is held in the end, at {tightest.stage}"
    return (Part(_DRAFT, "needed in passing", more, more, more, Basis.EXACT, words),)
