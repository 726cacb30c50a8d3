"""Free memory of one GPU, from an empty card to serving: the first stage that ends below zero is where it dies."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from tui.budget.types import BudgetItem, Stage, TimelinePoint


@dataclass(slots=True)
class Timeline:
    """Takes items one stage after the other.

    Attributes:
        free: expected; `low` if everything estimated turns out large, `high` if small.
        items: what is still held.
    """

    free: int
    low: int
    high: int
    items: list[BudgetItem] = field(default_factory=list)
    points: list[TimelinePoint] = field(default_factory=list)

    def take(self, stage: str, items: Iterable[BudgetItem | None], fails_as: Stage) -> None:
        """A stage allocates items; None stands for nothing."""
        for item in items:
            if item is not None:
                self.items.append(item)
                self.free -= item.size
                self.low -= item.high
                self.high -= item.low
        self.points.append(TimelinePoint(stage, self.free, self.low, self.high, fails_as))

    def give(self, size: int) -> None:
        """Something goes back between two stages."""
        self.free += size
        self.low += size
        self.high += size

    def settle(self, below: int, above: int) -> None:
        """From now on estimates before this moment count no more than this: what they took, the pools left out."""
        self.low, self.high = self.free - below, self.free + above
        last = self.points[-1]
        self.points[-1] = TimelinePoint(last.stage, self.free, self.low, self.high, last.fails_as)
