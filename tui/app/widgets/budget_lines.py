"""A budget as lines: the answer and what to do first, then the bars, the table, and what else is to be known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from textual.content import Content

from tui.app.budgets import BudgetAnswer
from tui.app.glyphs import Glyphs
from tui.app.widgets.budget_bar import bar_lines
from tui.app.widgets.budget_measured import has_room_beside, is_told, measured_lines, unplanned_lines
from tui.app.widgets.budget_parts import Fill, fills_of, fullest
from tui.app.widgets.budget_rows import table_lines
from tui.app.widgets.budget_timeline import timeline_chart, timeline_lines
from tui.app.widgets.budget_words import (
    MOST_CHANGES,
    change_lines,
    note_lines,
    trouble_lines,
    verdict_lines,
    wanted_lines,
)
from tui.app.words import format_indices
from tui.diagnosis.compare import Comparison, compare

Block = list[Content]

_NOTE_LINES = 4  # so many of the notes are seen before a chart takes their place


def budget_lines(
    answer: BudgetAnswer,
    width: int,
    height: int,
    glyphs: Glyphs,
    *,
    whole: bool = False,
    memory: Mapping[str, Any] = MappingProxyType({}),
    room: int = MOST_CHANGES,
) -> Block:
    """Everything that is known, no line wider than `width` cells; a blank line between blocks if `height` allows.

    `whole`: nothing is put together, and nothing cut. `memory`: what the launch's own log reported. `room`: how many
    changes are expected while they are looked for.
    """
    if answer.budget is None:
        return trouble_lines(answer.trouble, width, glyphs)
    compared = compare(answer.budget, memory) if memory else None
    if compared is not None and not is_told(compared):
        compared = None
    changes = change_lines(answer.budget.changes, width, glyphs)
    if answer.lacks_changes:
        changes = wanted_lines(room, glyphs)
    head = [verdict_lines(answer.budget, width, glyphs), changes]
    tail = [note_lines(answer.budget, width, glyphs)]
    fills = fills_of(answer.budget)
    if not fills:
        return _stacked([*head, *tail], height)
    beside = compared is not None and not whole and has_room_beside(width)
    bars = bar_lines(fills, {card.index: card.name for card in answer.budget.cards}, width, glyphs)
    table = _table(fills, width, glyphs, whole=whole, compared=compared if beside else None)
    if compared is not None:
        tail.insert(0, unplanned_lines(compared, width, glyphs) if beside else measured_lines(compared, width, glyphs))
    timeline = fullest(fills).rank.timeline
    charted = [*head, bars, table, timeline_chart(timeline, width, glyphs)]
    notes = sum(map(len, tail))
    if timeline and sum(map(len, charted)) + min(notes, _NOTE_LINES) <= height:  # the others may be scrolled to
        return _stacked([*charted, *tail], height)
    return _stacked([*head, bars, table + timeline_lines(timeline, width, glyphs), *tail], height)


def _table(fills: Sequence[Fill], width: int, glyphs: Glyphs, *, whole: bool, compared: Comparison | None) -> Block:
    """The table of the fullest GPU, which decides."""
    worst = fullest(fills)
    title = f"on GPU {format_indices(worst.gpus)}" if len(fills) > 1 else "component"
    return table_lines(worst, width, glyphs, title=title, whole=whole, compared=compared)


def _stacked(blocks: Sequence[Block], height: int) -> Block:
    blank = [Content()] if _height(blocks) <= height else []
    lines = [line for block in blocks if block for line in (*blank, *block)]
    return lines[len(blank) :]


def _height(blocks: Sequence[Block]) -> int:
    """With a blank line between them."""
    return sum(len(block) + 1 for block in blocks if block) - 1
