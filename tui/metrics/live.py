"""The live figures of a server, as every front end shows them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from msgspec import Struct, structs


class Source(StrEnum):
    """Where figures come from, the best first."""

    METRICS = "/metrics"
    LOADS = "/v1/loads"
    GET_LOAD = "/get_load"
    LOG = "log"


class Figures(Struct, frozen=True, kw_only=True):
    """What one source tells of one moment; None where it doesn't.

    Attributes:
        running, queued: requests, of all replicas.
        tokens_per_s: generated, by all replicas.
        kv_usage: share of the KV cache in use, 0 to 1; of the fullest replica and, with sliding windows, pool.
        slot_usage: share of the state slots that running requests hold; only for models with such a state.
        accept_length: tokens a step with speculative decoding, the bonus token included; only with it.
        cache_hit_rate: share of the prompts' tokens that the prefix cache had.
        max_running: requests that may run at once, of all replicas.
        slot_places: requests that the state slots allow at once, of all replicas, where those are fewer than was asked
            for; each needs several slots.
        kv_tokens: what the KV cache of one replica holds.
    """

    running: int | None = None
    queued: int | None = None
    tokens_per_s: float | None = None
    kv_usage: float | None = None
    slot_usage: float | None = None
    accept_length: float | None = None
    cache_hit_rate: float | None = None
    max_running: int | None = None
    slot_places: int | None = None
    kv_tokens: int | None = None

    def filled(self, other: Figures) -> Figures:
        """These, and the other's where these have none."""
        return structs.replace(
            self,
            **{name: getattr(other, name) for name in Figures.__struct_fields__ if getattr(self, name) is None},
        )


class LiveMetrics(Figures, frozen=True, kw_only=True):
    """The figures of a server at one moment.

    Attributes:
        at: when they were asked for.
        source: who told; what it didn't know, the log may have.
        retractions: requests that lost their place in the KV cache and were queued again, in the last minute.
        time_to_first_token_s: mean over the requests of the last minute; since the start where nobody looked before.
        trouble: why a better source couldn't be had, or why nothing is known; a few words.
    """

    at: datetime
    source: Source | None
    retractions: int | None = None
    time_to_first_token_s: float | None = None
    trouble: str | None = None

    @property
    def age_s(self) -> float:
        """Seconds since then."""
        return (datetime.now(UTC) - self.at).total_seconds()


def combine(ranks: Iterable[tuple[str, Figures]]) -> Figures:
    """The figures of a server from those of its ranks.

    Args:
        ranks: the name of the data-parallel replica, and what one rank of it tells. Ranks of one replica run the same
            requests and hold the same share of their pools, so the largest figure of them counts once; replicas add up.
    """
    replicas: dict[str, list[Figures]] = {}
    for replica, figures in ranks:
        replicas.setdefault(replica, []).append(figures)
    each = [_fold(figures, dict.fromkeys(Figures.__struct_fields__, max)) for figures in replicas.values()]
    return _fold(each, _ACROSS_REPLICAS)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


_ACROSS_REPLICAS: Mapping[str, Callable[..., Any]] = {
    "running": sum,
    "queued": sum,
    "tokens_per_s": sum,
    "kv_usage": max,
    "slot_usage": max,
    "accept_length": _mean,
    "cache_hit_rate": _mean,
    "max_running": sum,
    "slot_places": sum,
    "kv_tokens": min,
}


def _fold(figures: Sequence[Figures], how: Mapping[str, Callable[..., Any]]) -> Figures:
    """Field by field, over those that have a value."""
    folded = {}
    for name, fold in how.items():
        values = [value for one in figures if (value := getattr(one, name)) is not None]
        folded[name] = fold(values) if values else None
    return Figures(**folded)
