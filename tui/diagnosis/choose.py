"""Which piece of evidence is the cause: primary before secondary, first before later, strong before weak."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tui.diagnosis.heads import Evidence
from tui.diagnosis.rule import Role


def choose_root(strong: Sequence[Evidence], weak: Sequence[Evidence], *, weak_counts: bool) -> Evidence | None:
    """The cause, or None where there are only consequences, or nothing.

    Args:
        strong: what ended a process.
        weak: what nothing went on after, as far as the log shows.
        weak_counts: the launch failed, or stopped in its middle: what stands last may be why.
    """
    first = _first(_representatives(strong))
    if first is not None and first.role is Role.CAUSE:
        return first
    last = _first(_representatives(piece for piece in weak if weak_counts or piece.rule is not None))
    if first is None or (last is not None and last.role < first.role):
        return last
    return first


def _first(pieces: Iterable[Evidence]) -> Evidence | None:
    """By role, then by line; consequences of other processes' ends are none."""
    known = [piece for piece in pieces if piece.role is not Role.CONSEQUENCE]
    return min(known, key=lambda piece: (piece.role, piece.line), default=None)


def _representatives(pieces: Iterable[Evidence]) -> list[Evidence]:
    """Of each chain of tracebacks the one that says most: the first that a rule knows as a cause."""
    chains: dict[int, list[Evidence]] = {}
    for piece in pieces:
        chains.setdefault(piece.block, []).append(piece)
    return [min(chain, key=_rank) for chain in chains.values()]


def _rank(piece: Evidence) -> tuple[int, int]:
    known = piece.rule is not None
    order = {(True, Role.CAUSE): 0, (False, Role.CAUSE): 1, (True, Role.SYMPTOM): 2}.get((known, piece.role), 3)
    return order, piece.line
