"""The budget of one GPU as a table: letter, component, GiB, how that is known, and where it comes from."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace
from rich.cells import cell_len
from textual.content import Content

from tui.app.glyphs import Glyphs
from tui.app.widgets.budget_measured import measured_words
from tui.app.widgets.budget_parts import Fill, Part, each_item
from tui.app.wrapping import wrapped
from tui.budget.types import Basis, TimelinePoint
from tui.diagnosis.compare import Comparison
from tui.units import GIB, format_gib

_GAP = "  "
_REASON_LEAST = 20  # a narrower column makes a tall table: reasons then stand below their rows
_BELOW = "    "
_GRAPHS = "CUDA graphs"  # the log tells of all captures together
_WORTH_SAYING = GIB // 20


class Row(Struct, frozen=True):
    """One line of the table in words.

    Attributes:
        style: of its sign.
        emphasis: of its figure.
        measured: what the launch's own log reported, and by how much that is more than planned.
    """

    sign: str
    style: str
    name: str
    gib: str
    known: str
    reason: str
    emphasis: str = ""
    measured: str = ""


class _Columns(Struct, frozen=True):
    """Widths in cells.

    Attributes:
        below: reasons stand below their rows.
    """

    name: int
    gib: int
    measured: int
    known: int
    reason: int
    below: bool


def table_lines(
    fill: Fill, width: int, glyphs: Glyphs, *, title: str, whole: bool = False, compared: Comparison | None = None
) -> list[Content]:
    """Header and rows, no wider than `width` cells; `title` is what the column of components is called.

    `compared`: what was logged has a column. `whole`: each item has a line of its own.
    """
    head = Row(" ", "", title, "GiB ", "how known", "where it comes from")
    rows = rows_of(fill, glyphs, whole=whole)
    if compared is not None:
        head = replace(head, gib="planned ", measured="measured     ")
        rows = [_with_measured(row, fill, compared) for row in rows]
    columns = _columns([head, *rows], width)
    if columns.below:
        head = replace(head, reason="")
    lines = [line.stylize("$quiet") for line in _row_lines(head, columns, glyphs)]
    for row in rows:
        lines += _row_lines(row, columns, glyphs)
    return lines


def rows_of(fill: Fill, glyphs: Glyphs, *, whole: bool = False) -> list[Row]:
    """What is held, part by part, and what is left or missing."""
    parts = each_item(fill) if whole else fill.parts
    return [*map(part_row, parts), *_rest_rows(fill, glyphs)]


def _with_measured(row: Row, fill: Fill, compared: Comparison) -> Row:
    """The log tells of a few parts, by the names that the parts have."""
    size = next((part.size / GIB for part in fill.parts if part.name == row.name), None)
    return replace(row, measured=measured_words(compared, "graphs" if row.name == _GRAPHS else row.name, size))


def part_row(part: Part) -> Row:
    """One part; an estimate has fewer digits, a `~`, and its range."""
    if part.basis is Basis.ESTIMATED:
        spread = "" if part.low == part.high else f" {format_gib(part.low)}-{format_gib(part.high)}"
        gib, known = f"~{format_gib(part.size)} ", f"est.{spread}"
    else:
        gib, known = format_gib(part.size, 2), part.basis.value
    return Row(part.kind.sign, f"$ink on {part.kind.style}", part.name, gib, known, part.reason)


def _rest_rows(fill: Fill, glyphs: Glyphs) -> list[Row]:
    rows = []
    if fill.short:
        over = format_gib(fill.short, 2)
        rows.append(Row(glyphs.overflow, "bold $ink on $error", "doesn't fit", over, "", "", "bold $error"))
    if fill.kept is not None:
        rows.append(Row(glyphs.free, "$free", "kept free", format_gib(fill.kept.size, 2), "exact", fill.kept.formula))
    elif not fill.short and fill.rank.timeline:
        rows.append(_free_row(fill, fill.rank.timeline, glyphs))
    return rows


def _free_row(fill: Fill, timeline: Sequence[TimelinePoint], glyphs: Glyphs) -> Row:
    last, tightest = timeline[-1], min(timeline, key=lambda point: point.free)
    known = "est." if last.low == last.high else f"est. {format_gib(last.low)}-{format_gib(last.high)}"
    reason = "while it serves"
    if last.free - tightest.free > _WORTH_SAYING:
        reason += f"; at the tightest moment ({tightest.stage}) {format_gib(tightest.free)} GiB"
    return Row(glyphs.free, "$free", "stays free", f"~{format_gib(fill.free)} ", known, reason, "bold")


def _columns(rows: Sequence[Row], width: int) -> _Columns:
    gib = max(len(row.gib) for row in rows)
    known = max(len(row.known) for row in rows)
    measured = max(len(row.measured) for row in rows)
    room = width - len("W ") - gib - known - 2 * len(_GAP) - (measured + len(_GAP) if measured else 0)
    name = max(0, min(room, max(cell_len(row.name) for row in rows)))
    reason = room - name - len(_GAP)
    below = reason < _REASON_LEAST
    return _Columns(name, gib, measured, known, max(1, width - len(_BELOW)) if below else reason, below)


def _row_lines(row: Row, columns: _Columns, glyphs: Glyphs) -> list[Content]:
    reason = wrapped(row.reason, columns.reason, glyphs) if row.reason else []
    beside, *others = ["", *reason] if columns.below else reason or [""]
    name = glyphs.fit(row.name, columns.name)
    name += " " * (columns.name - cell_len(name))
    measured = f"{_GAP}{row.measured.rjust(columns.measured)}" if columns.measured else ""
    before = len("W ") + columns.name + columns.gib + len(measured) + columns.known + 3 * len(_GAP)
    indent = _BELOW if columns.below else " " * before
    line = Content.assemble(
        (row.sign, row.style),
        f" {name}{_GAP}",
        (row.gib.rjust(columns.gib), row.emphasis),
        measured,
        f"{_GAP}{row.known:<{columns.known}}",
        (_GAP + beside, "$quiet"),
    )
    return [line.rstrip(), *(Content.styled(indent + other, "$quiet") for other in others)]
