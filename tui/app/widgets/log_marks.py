"""Which rows of a log view a diagnosis speaks of: it knows them by their place in the file."""

from __future__ import annotations

from collections.abc import Mapping

from tui.app.widgets.log_rows import Lines
from tui.launch.explanation import Mark


class LineMarks:
    """Marks by offset, found among the lines that are counted so far."""

    def __init__(self, marks: Mapping[int, Mark]) -> None:
        self.marks = dict(marks)
        self._known: tuple[object, dict[int, Mark]] | None = None

    @property
    def root(self) -> int | None:
        """Offset of the line that says what happened."""
        return next((offset for offset, mark in self.marks.items() if mark is Mark.ROOT), None)

    def by_line(self, lines: Lines) -> dict[int, Mark]:
        """Marks by the numbers that their lines have in this index; looked up again only when numbers may differ."""
        covered = tuple(offset for offset in self.marks if lines.covers(offset))
        key = (id(lines), lines.generation, getattr(lines, "trimmed", 0), covered)
        if self._known is None or self._known[0] != key:
            numbers = {offset: lines.line_at(offset) for offset in covered}
            # A filter may have left it out: then the number is that of the next line that passes.
            shown = {number: self.marks[at] for at, number in numbers.items() if lines.offset_of(number) == at}
            self._known = key, shown
        return self._known[1]
