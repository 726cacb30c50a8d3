"""What was planned beside what the log reported, the difference, and what nobody planned: GiB of the fullest rank."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

from tui.budget.types import MemoryBudget, RankBudget
from tui.units import GIB


class Row(Struct, frozen=True):
    """One use of memory; None: not planned, or not logged."""

    component: str
    planned_gib: float | None
    logged_gib: float | None

    @property
    def difference_gib(self) -> float | None:
        """Logged less planned."""
        if self.planned_gib is None or self.logged_gib is None:
            return None
        return round(self.logged_gib - self.planned_gib, 2)


class Comparison(Struct, frozen=True):
    """Both, line by line.

    Attributes:
        unplanned_gib: what was free before the weights, less all that was logged and less what is free at the end:
            workspaces, contexts of later kernels, others' memory. None while the log doesn't tell enough.
    """

    rows: tuple[Row, ...]
    unplanned_gib: float | None


# Our component's names, and how the log's figure is found.
_GRAPHS = ("decode graphs", "prefill graphs", "draft graphs")
_KV = ("KV cache", "KV cache, sliding window")


def compare(budget: MemoryBudget, memory: Mapping[str, Any]) -> Comparison:
    """A plan and the figures of a log, under the names that `Figures.to_json` gives them."""
    rank = min(budget.ranks, key=lambda one: min(point.free for point in one.timeline), default=None)
    mamba, kv = memory.get("mamba") or {}, memory.get("kv") or {}
    kv_gib = _sum(kv.get(name) for name in ("k_gib", "v_gib", "kv_gib", "swa_k_gib", "swa_v_gib"))
    rows = (
        Row("free before the weights", _gib(budget.available), memory.get("avail_before_gib")),
        Row("weights", _planned(rank, ("weights", "load overhead")), memory.get("weights_gib")),
        Row("draft weights", _gib(budget.draft_weights), memory.get("draft_weights_gib")),
        Row("state slots", _planned(rank, ("state slots",)), _sum(mamba.get(n) for n in ("conv_gib", "ssm_gib"))),
        Row(
            "state for drafts",
            _planned(rank, ("state for drafts",)),
            _sum(mamba.get(name) for name in ("intermediate_ssm_gib", "intermediate_conv_gib")),
        ),
        Row("KV cache", _planned(rank, _KV), kv_gib),
        Row("graphs", _planned(rank, _GRAPHS), memory.get("graphs_gib")),
    )
    told = tuple(row for row in rows if row.planned_gib or row.logged_gib is not None)
    return Comparison(told, _unplanned(rows, memory.get("free_gib")))


def _unplanned(rows: Iterable[Row], free_gib: float | None) -> float | None:
    before, *parts = rows
    if (
        before.logged_gib is None
        or free_gib is None
        or not any(row.component == "KV cache" and row.logged_gib for row in parts)
    ):
        return None
    return round(before.logged_gib - sum(row.logged_gib or 0.0 for row in parts) - free_gib, 2)


def to_json(comparison: Comparison) -> dict[str, Any]:
    """As `plan --compare --json` has it."""
    rows = [
        {
            "component": row.component,
            "planned_gib": row.planned_gib,
            "logged_gib": row.logged_gib,
            "difference_gib": row.difference_gib,
        }
        for row in comparison.rows
    ]
    return {"rows": rows, "unplanned_gib": comparison.unplanned_gib}


def _planned(rank: RankBudget | None, names: tuple[str, ...]) -> float | None:
    sizes = [item.size for item in rank.items if item.component in names] if rank is not None else []
    return _gib(sum(sizes)) if sizes else None


def _gib(size: int | None) -> float | None:
    return None if size is None else round(size / GIB, 2)


def _sum(parts: Iterable[float | None]) -> float | None:
    told = [part for part in parts if part is not None]
    return round(sum(told), 2) if told else None
