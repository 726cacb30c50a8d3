"""A budget as lines: the answer and what to do first, then the bars, the table, and what else is to be known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from textual.content import Content

from tui.app.budgets import BudgetAnswer
from tui.app.glyphs import Glyphs
from tui.app.widgets.budget_bar import bar_lines
from tui.app.widgets.budget_measured import has_room_beside, is_told, measured_lines, unplanned_lines
from tui.app.widgets.budget_parts import Fill, fills_of, fullest
from tui.app.widgets.budget_rows import table_lines
from tui.app.widgets.budget_words import change_lines, note_lines, timeline_lines, trouble_lines, verdict_lines
from tui.app.words import format_indices
from tui.budget.types import MemoryBudget
from tui.diagnosis.compare import Comparison, compare

Block = list[Content]


def budget_lines(
    answer: BudgetAnswer,
    width: int,
    height: int,
    glyphs: Glyphs,
    *,
    whole: bool = False,
    memory: Mapping[str, Any] = MappingProxyType({}),
) -> Block:
    """Everything that is known, no line wider than `width` cells; a blank line between blocks if `height` allows.

    `whole`: nothing is put together, and nothing cut. `memory`: what the launch's own log reported.
    """
    if answer.budget is None:
        return trouble_lines(answer.trouble, width, glyphs)
    compared = compare(answer.budget, memory) if memory else None
    if compared is not None and not is_told(compared):
        compared = None
    return _stacked(_blocks(answer.budget, compared, width, glyphs, whole=whole), height)


def _blocks(
    budget: MemoryBudget, compared: Comparison | None, width: int, glyphs: Glyphs, *, whole: bool
) -> Iterable[Block]:
    yield verdict_lines(budget, width, glyphs)
    yield change_lines(budget.changes, width, glyphs)
    fills = fills_of(budget)
    if fills:
        yield bar_lines(fills, {card.index: card.name for card in budget.cards}, width, glyphs)
        beside = compared is not None and not whole and has_room_beside(width)
        yield _table(fills, width, glyphs, whole=whole, compared=compared if beside else None)
        if compared is not None:
            yield unplanned_lines(compared, width, glyphs) if beside else measured_lines(compared, width, glyphs)
    yield note_lines(budget, width, glyphs)


def _table(fills: Sequence[Fill], width: int, glyphs: Glyphs, *, whole: bool, compared: Comparison | None) -> Block:
    """The table of the fullest GPU, which decides."""
    worst = fullest(fills)
    title = f"on GPU {format_indices(worst.gpus)}" if len(fills) > 1 else "component"
    rows = table_lines(worst, width, glyphs, title=title, whole=whole, compared=compared)
    return rows + timeline_lines(worst.rank.timeline, width, glyphs)


def _stacked(blocks: Iterable[Block], height: int) -> Block:
    kept = [block for block in blocks if block]
    blank = [Content()] if sum(map(len, kept)) + len(kept) - 1 <= height else []
    lines = [line for block in kept for line in (*blank, *block)]
    return lines[len(blank) :]
