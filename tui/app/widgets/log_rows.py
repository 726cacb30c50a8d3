"""What the rows of a log view are, and how lines that are wrapped lie on the screen."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from msgspec import Struct

from tui.logs.index import LineIndex
from tui.logs.matches import MatchIndex

Lines: TypeAlias = LineIndex | MatchIndex


class Rows(Struct, frozen=True):
    """What the rows are: words of our own above, if any, then the lines of an index.

    Attributes:
        settled: rows that stay as they are; the one behind them is a line that isn't finished.
    """

    notice: str = ""
    lines: Lines | None = None
    generation: int = 0
    count: int = 0
    settled: int = 0

    @classmethod
    def of(cls, notice: str, lines: Lines) -> Rows:
        """The rows as they are now."""
        count = bool(notice) + lines.count
        return cls(notice, lines, lines.generation, count, count - lines.unfinished)

    @classmethod
    def only(cls, notice: str) -> Rows:
        """Nothing but words of our own."""
        return cls(notice, count=1, settled=1)

    def follow_on(self, earlier: Rows) -> bool:
        """Whether these are the earlier rows, and perhaps more."""
        return (self.notice, self.lines, self.generation) == (earlier.notice, earlier.lines, earlier.generation)


class Place(NamedTuple):
    """A row of the log, and which of the screen rows it takes when it is wrapped."""

    row: int
    part: int = 0


class Wrapping:
    """Places of rows that take several screen rows each.

    Args:
        parts_of: how many screen rows a row takes, at least 1.
        count: rows.
    """

    def __init__(self, parts_of: Callable[[int], int], count: int) -> None:
        self._parts_of = parts_of
        self._count = count

    def moved(self, place: Place, by: int) -> Place:
        """So many screen rows further down, or up if negative; not beyond the first or last."""
        row, part = place
        part += by
        while part < 0 and row > 0:
            row -= 1
            part += self._parts_of(row)
        while row < self._count and part >= (parts := self._parts_of(row)):
            if row == self._count - 1:
                return Place(row, parts - 1)
            row, part = row + 1, part - parts
        return Place(row, max(0, part))

    def screen(self, top: Place, height: int) -> list[Place]:
        """What the screen shows, from its top on."""
        shown: list[Place] = []
        row, part = top
        while len(shown) < height and row < self._count:
            shown += [Place(row, one) for one in range(part, self._parts_of(row))]
            row, part = row + 1, 0
        return shown[:height]

    def last_top(self, height: int) -> Place:
        """The top of the last screen."""
        last = self._count - 1
        return self.moved(Place(last, self._parts_of(last) - 1), 1 - height) if self._count else Place(0)
