"""The GPUs: a bar a GPU that says who holds what, its figures, and a legend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from textual.containers import VerticalScroll
from textual.content import Content

from tui.app.glyphs import Glyphs
from tui.app.holders import (
    Holder,
    Letters,
    holders_of,
    on_all_gpus,
    owners_by_pid,
    share_cells,
)
from tui.app.widgets.text_line import TextLine
from tui.app.words import short_gpu_name
from tui.gpu import GpuSnapshot
from tui.observe import Snapshot
from tui.units import format_gib

_NAME_CELLS = 20
_BAR_LEAST = 24
_GAP = "  "
_LEGEND_GAP = "   "
_LEGEND_LINES = 3
_MORE_CELLS = len("   and 999 more")


@dataclass(frozen=True, slots=True)
class _Row:
    """One GPU in words: its head, its figures (most important first), and who holds it."""

    head: str
    figures: tuple[str, ...]
    gpu: GpuSnapshot
    holders: tuple[Holder, ...]


class GpuPanel(VerticalScroll, can_focus=True, inherit_bindings=False):
    """Draws the newest reading; a line is repainted only when it reads differently."""

    def __init__(self, glyphs: Glyphs, *, id: str, classes: str) -> None:  # noqa: A002 Textual's own name
        super().__init__(id=id, classes=classes)
        self.border_title = Content(" GPUs ")
        self._glyphs = glyphs
        self._snapshot: Snapshot | None = None
        self._letters: Letters = {}

    def show(self, snapshot: Snapshot | None, letters: Letters) -> None:
        """Show this moment; None: nothing was read yet."""
        self._snapshot, self._letters = snapshot, letters
        self._draw()

    def on_mount(self) -> None:
        """Show what there is before the first reading."""
        self._draw()

    def on_resize(self) -> None:
        """The bars follow the width."""
        self._draw()

    def _draw(self) -> None:
        if width := self.scrollable_content_region.width:
            self._put(panel_lines(self._snapshot, self._letters, width, self._glyphs))

    def _put(self, lines: Sequence[Content]) -> None:
        shown = list(self.query(TextLine))
        for line in shown[len(lines) :]:
            line.remove()
        added = [TextLine() for _ in lines[len(shown) :]]
        if added:
            self.mount_all(added)
        for line, content in zip((*shown, *added), lines, strict=False):
            line.show(content)


def panel_lines(snapshot: Snapshot | None, letters: Letters, width: int, glyphs: Glyphs) -> list[Content]:
    """Everything the panel shows, a line each, no line wider than `width` cells."""
    if snapshot is None:
        return [Content.styled(f"reading{glyphs.ellipsis}", "$quiet")]
    reading = snapshot.gpus
    if reading.problem is not None:
        problem = f"{glyphs.problem} {glyphs.plain(reading.problem.what)}"
        return [Content.styled(problem, "$error"), Content(glyphs.plain(reading.problem.hint))]
    if not reading.gpus:
        return [Content.styled("This machine has no GPU that the driver can see.", "$quiet")]
    owners = owners_by_pid(snapshot.instances)
    gpus = sorted(reading.gpus, key=lambda gpu: gpu.index)
    rows = [_row(gpu, owners, letters, glyphs) for gpu in gpus]
    return [*_bars(rows, width, glyphs), *_legend(rows, width, glyphs)]


def _row(gpu: GpuSnapshot, owners: Mapping[int, str], letters: Letters, glyphs: Glyphs) -> _Row:
    name = glyphs.fit(glyphs.plain(short_gpu_name(gpu.name)), _NAME_CELLS)
    return _Row(f"{gpu.index} {name}", _figures(gpu, glyphs), gpu, holders_of(gpu, owners, letters))


def _figures(gpu: GpuSnapshot, glyphs: Glyphs) -> tuple[str, ...]:
    """Memory in use of all there is, utilization, temperature, power; `-` where the driver doesn't tell."""
    if gpu.memory is None:
        return ()
    used = gpu.memory.total_bytes - gpu.memory.free_bytes
    memory = f"{format_gib(used):>5} / {format_gib(gpu.memory.total_bytes)} GiB"
    power = None if gpu.power_w is None else round(gpu.power_w)
    return (
        memory,
        f"{_or_dash(gpu.utilization_percent):>3} %",
        f"{_or_dash(gpu.temperature_c):>3} {glyphs.degrees}",
        f"{_or_dash(power):>4} W",
    )


def _or_dash(value: int | None) -> str:
    return "-" if value is None else str(value)


def _bars(rows: Sequence[_Row], width: int, glyphs: Glyphs) -> list[Content]:
    head_cells = max(cell_len(row.head) for row in rows)
    room = width - head_cells - len(_GAP)
    shown = _shown_figures(rows, room)
    bar_cells = room - sum(len(_GAP) + cells for cells in shown)
    return [_bar_line(row, head_cells, bar_cells, shown, glyphs) for row in rows]


def _shown_figures(rows: Sequence[_Row], room: int) -> list[int]:
    """Widths of the figures that fit beside a bar that can still be read; memory always does."""
    widths = [max(map(len, column)) for column in zip(*(row.figures for row in rows if row.figures), strict=True)]
    shown = widths[:1]
    for cells in widths[1:]:
        if room - sum(len(_GAP) + one for one in (*shown, cells)) < _BAR_LEAST:
            break
        shown.append(cells)
    return shown


def _bar_line(row: _Row, head_cells: int, bar_cells: int, shown: Sequence[int], glyphs: Glyphs) -> Content:
    head = row.head + " " * (head_cells - cell_len(row.head)) + _GAP
    if row.gpu.memory is None:
        room = bar_cells + sum(len(_GAP) + cells for cells in shown)
        trouble = glyphs.plain(row.gpu.problem or "its memory can't be read")
        return Content.assemble(head, (glyphs.fit(f"{glyphs.problem} {trouble}", room), "$error"))
    figures = [f"{text:>{cells}}" for text, cells in zip(row.figures, shown, strict=False)]
    bar = bar_content(row.holders, row.gpu.memory.free_bytes, bar_cells, glyphs)
    return Content.assemble(head, bar, _GAP, (_GAP.join(figures[:1]), "bold"), *(_GAP + one for one in figures[1:]))


def bar_content(holders: Sequence[Holder], free_bytes: int, cells: int, glyphs: Glyphs) -> Content:
    """The bar: each holder's sign as often as its share of the cells, then what is free."""
    edge = glyphs.edge
    room = max(0, cells - 2 * len(edge))
    sizes = [*(holder.size_bytes or 0 for holder in holders), max(0, free_bytes)]
    *held, free = share_cells(sizes, room)
    pieces = [
        (holder.sign * count, f"$ink on {holder.style}") for holder, count in zip(holders, held, strict=True) if count
    ]
    blank = room - sum(held) - free  # only when there is no memory at all
    return Content.assemble(edge, *pieces, (glyphs.free * free, "$free"), " " * blank, edge)


def _legend(rows: Sequence[_Row], width: int, glyphs: Glyphs) -> list[Content]:
    """Who the signs are, with what each holds on all GPUs together."""
    holders = on_all_gpus({row.gpu.index: row.holders for row in rows})
    entries = [_entry(holder, width - _MORE_CELLS, glyphs) for holder in holders]
    lines = _packed(entries, width - len(_GAP))
    return [Content.assemble(_GAP, Content(_LEGEND_GAP).join(line)) for line in lines if line]


def _packed(entries: Sequence[Content], width: int) -> list[list[Content]]:
    """Whole entries in a few lines; how many don't fit is said at their end."""
    lines: list[list[Content]] = [[]]
    for position, entry in enumerate(entries):
        is_last_line = len(lines) == _LEGEND_LINES
        reserve = _MORE_CELLS if is_last_line and position + 1 < len(entries) else 0
        used = sum(part.cell_length + len(_LEGEND_GAP) for part in lines[-1])
        if used + entry.cell_length + reserve > width:
            if is_last_line:
                lines[-1].append(Content.styled(f"and {len(entries) - position} more", "$quiet"))
                break
            lines.append([])
        lines[-1].append(entry)
    return lines


def _entry(holder: Holder, width: int, glyphs: Glyphs) -> Content:
    size = format_gib(holder.size_bytes)
    label = glyphs.fit(glyphs.plain(holder.label), width - len(size) - 4)
    return Content.assemble((holder.sign, f"$ink on {holder.style}"), f" {label} ", (size, "bold"))
