"""The figures of memory that a log tells, rank by rank, and the fullest rank's by the plan's names. All in GiB."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from msgspec import Struct

from tui.diagnosis.server_args import Value
from tui.sglang import log_events as ev

_RANKS_KEPT = 4096


@dataclass(slots=True)
class RankFigures:
    """What one rank logged. None: it didn't.

    Attributes:
        avail_before, weights, avail_after: around the first weight load.
        draft_weights: what the second load took.
        pool_end: free behind the pools; of the target model.
        graphs: what all captures took together.
        last_avail: the newest reading of free memory, whatever it was for.
        last_shape: the batch size or number of tokens of the graph in hand.
    """

    loads: int = 0
    pools: int = 0
    avail_before: float | None = None
    weights: float | None = None
    avail_after: float | None = None
    model_class: str | None = None
    quant: str | None = None
    draft_before: float | None = None
    draft_weights: float | None = None
    mamba: ev.MambaCache | None = None
    kv: tuple[ev.KvCache, ...] = ()
    sliding: ev.SwaKvPool | None = None
    pool_end: float | None = None
    graphs: float | None = None
    last_avail: float | None = None
    last_shape: int | None = None

    def add(self, event: ev.Event) -> None:
        """One line of this rank."""
        if isinstance(event, ev.LoadWeightBegin):
            self._begin_load(event.avail_gib)
        elif isinstance(event, ev.LoadWeightEnd):
            self._end_load(event)
        elif isinstance(event, ev.MambaCache):
            self.mamba = self.mamba or event
        elif isinstance(event, ev.KvCache):
            self.kv = (*self.kv, event)[:4]
        elif isinstance(event, ev.SwaKvPool):
            self.sliding = self.sliding or event
        elif isinstance(event, ev.MemoryPoolEnd):
            self.pools += 1
            self.pool_end = event.avail_gib if self.pool_end is None else self.pool_end
            self.last_avail = event.avail_gib
        elif isinstance(event, ev.GraphCaptureEnd):
            self.graphs = (self.graphs or 0.0) + (event.usage_gib or 0.0)
            self.last_avail = event.avail_gib if event.avail_gib is not None else self.last_avail
        elif isinstance(event, ev.GraphCaptureBegin | ev.GraphProgress):
            self._read_capture(event)

    def _begin_load(self, avail_gib: float) -> None:
        self.loads += 1
        self.last_avail = avail_gib
        if self.loads == 1:
            self.avail_before = avail_gib
        else:
            self.draft_before = avail_gib

    def _end_load(self, event: ev.LoadWeightEnd) -> None:
        self.last_avail = event.avail_gib
        before = self.avail_before if self.loads <= 1 else self.draft_before
        usage = event.usage_gib
        if usage is None and before is not None:
            usage = round(before - event.avail_gib, 2)
        if self.loads > 1:
            self.draft_weights = usage
        else:
            self.weights, self.avail_after = usage, event.avail_gib
            self.model_class, self.quant = event.model_class, event.quant

    def _read_capture(self, event: ev.GraphCaptureBegin | ev.GraphProgress) -> None:
        if event.avail_gib is not None:
            self.last_avail = event.avail_gib
        if isinstance(event, ev.GraphProgress):
            self.last_shape = event.size


class Figures:
    """All ranks' figures of one launch."""

    def __init__(self) -> None:
        self._ranks: dict[tuple[str, ...], RankFigures] = {}
        self.summary: ev.PoolSummary | None = None
        self._bar = RankFigures()  # bars carry no rank

    def add(self, ranks: tuple[str, ...], event: ev.Event) -> None:
        """One line."""
        if isinstance(event, ev.PoolSummary):
            self.summary = event
        elif isinstance(event, ev.GraphProgress):
            self._bar.add(event)
        elif ranks in self._ranks or len(self._ranks) < _RANKS_KEPT:
            self._ranks.setdefault(ranks, RankFigures()).add(event)

    def of(self, ranks: tuple[str, ...]) -> RankFigures:
        """One rank's; empty where it said nothing."""
        return self._ranks.get(ranks) or RankFigures()

    @property
    def bar(self) -> RankFigures:
        """What the newest bar of a capture said."""
        return self._bar

    @property
    def fullest(self) -> RankFigures:
        """Of the rank with the least free memory, by the newest reading of each."""
        told = [rank for rank in self._ranks.values() if rank.last_avail is not None]
        return min(told, key=lambda rank: rank.last_avail or 0.0, default=RankFigures())

    @property
    def least_before(self) -> tuple[tuple[str, ...], float] | None:
        """The rank that found the least free memory before its weights, and how much."""
        told = [(ranks, r.avail_before) for ranks, r in self._ranks.items() if r.avail_before is not None]
        return min(told, key=lambda pair: pair[1], default=None)

    @property
    def before_by_rank(self) -> list[float]:
        """What each rank found free before its weights."""
        return [rank.avail_before for rank in self._ranks.values() if rank.avail_before is not None]

    def to_json(self, arguments: Mapping[str, Value]) -> dict[str, Any]:
        """The figures under the names that a plan has for them; null where the log doesn't tell."""
        rank, summary = self.fullest, self.summary
        logged = summary or _NO_SUMMARY
        fraction = arguments.get("mem_fraction_static")
        return {
            "mem_fraction_static": fraction,
            "avail_before_gib": rank.avail_before,
            "rest_gib": self.rest_gib(fraction),
            "weights_gib": rank.weights,
            "draft_weights_gib": rank.draft_weights,
            "avail_after_weights_gib": rank.avail_after,
            "mamba": None if rank.mamba is None else _mamba(rank.mamba),
            "kv": _kv(rank, summary),
            "pool_end_gib": rank.pool_end,
            "graphs_gib": rank.graphs,
            "free_gib": rank.last_avail if self._bar.last_avail is None else min(_floats(rank, self._bar)),
            "max_running_requests": _first(logged.max_running_requests, arguments, "max_running_requests"),
            "chunked_prefill_size": _first(logged.chunked_prefill_size, arguments, "chunked_prefill_size"),
            "cuda_graph_max_bs": arguments.get("cuda_graph_max_bs"),
            "context_length": _first(logged.context_len, arguments, "context_length"),
        }

    def rest_gib(self, fraction: Value) -> float | None:
        """What the pools share: free behind the weights, less what the fraction keeps free."""
        rank = self.fullest
        if not isinstance(fraction, float) or rank.avail_before is None or rank.avail_after is None:
            return None
        return round(rank.avail_after - rank.avail_before * (1 - fraction), 2)


def _floats(*ranks: RankFigures) -> list[float]:
    return [rank.last_avail for rank in ranks if rank.last_avail is not None]


class _NoSummary(Struct, frozen=True):
    max_running_requests: int | None = None
    chunked_prefill_size: int | None = None
    context_len: int | None = None


_NO_SUMMARY = _NoSummary()


def _first(logged: int | None, arguments: Mapping[str, Value], name: str) -> Value:
    return arguments.get(name) if logged is None else logged


def _mamba(state: ev.MambaCache) -> dict[str, Any]:
    return {
        "slots": state.slots,
        "conv_gib": state.conv_gib,
        "ssm_gib": state.ssm_gib,
        "intermediate_ssm_gib": state.intermediate_ssm_gib,
        "intermediate_conv_gib": state.intermediate_conv_gib,
    }


def _kv(rank: RankFigures, summary: ev.PoolSummary | None) -> dict[str, Any] | None:
    """The target's pool: with sliding windows two lines, the windowed layers' first; the draft's comes after."""
    if not rank.kv and summary is None:
        return None
    full = rank.kv[1] if rank.sliding is not None and len(rank.kv) > 1 else rank.kv[0] if rank.kv else None
    windowed = rank.kv[0] if rank.sliding is not None and len(rank.kv) > 1 else None
    return {
        "tokens": summary.max_total_num_tokens if summary is not None else full and full.tokens,
        "k_gib": full and full.k_gib,
        "v_gib": full and full.v_gib,
        "kv_gib": full and full.kv_gib,
        "swa_tokens": rank.sliding and rank.sliding.swa_tokens,
        "swa_k_gib": windowed and windowed.k_gib,
        "swa_v_gib": windowed and windowed.v_gib,
    }
