"""The GPUs as lines: a bar a GPU that says who holds what, its figures and its last minutes, and a legend."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

from msgspec import Struct
from rich.cells import cell_len
from textual.content import Content

from tui.app.glyphs import Glyphs
from tui.app.gpu_history import MOST_STEPS, STEP_S, Figures
from tui.app.holders import (
    Holder,
    Letters,
    holders_of,
    on_all_gpus,
    owners_by_pid,
    share_cells,
    told_by_difference,
)
from tui.app.widgets.gpu_legend import legend_lines
from tui.app.words import short_gpu_name
from tui.app.wrapping import wrapped
from tui.gpu import GpuProblem, GpuSnapshot
from tui.metrics.plot import sparkline
from tui.observe import Snapshot
from tui.units import format_gib

_NAME_CELLS = 20
_BAR_LEAST = 24
_GAP = "  "
_PART = "  "  # before an instance of the GPU above it
# A plot where the bar keeps enough: of 3 minutes in a window of 120 columns, of 6 in one of 160.
_PLOTS = ((116, MOST_STEPS // 2), (156, MOST_STEPS))
_FOLD_LEAST, _FOLD_GAP = 66, "   "

History = Callable[[str], Sequence[Figures]]


class _Row(Struct, frozen=True):
    """One GPU, or a part of one, in words: its head, its figures (most important first), who holds it, its history."""

    head: str
    figures: tuple[str, ...]
    gpu: GpuSnapshot
    holders: tuple[Holder, ...]
    history: Sequence[Figures] = ()


class _Grid(Struct, frozen=True):
    """The cells of each column: head, bar, the figures that are shown, each of the two plots."""

    head: int
    bar: int
    figures: Sequence[int]
    plot: int


def plot_cells(width: int) -> int:
    """How long the plots of a GPU's last minutes are in a panel of that width."""
    return max((cells for least, cells in _PLOTS if width >= least), default=0)


def panel_lines(
    snapshot: Snapshot | None,
    letters: Letters,
    width: int,
    glyphs: Glyphs,
    *,
    history: History | None = None,
    height: int | None = None,
) -> list[Content]:
    """Everything the panel shows, a line each, no line wider than `width` cells.

    Args:
        snapshot: None: nothing was read yet.
        letters: of the servers.
        width: cells.
        glyphs: the signs of the screen.
        history: of the GPU of a uuid, for plots where there is room.
        height: lines that are seen; with more GPUs, two stand side by side.
    """
    if snapshot is None:
        return [Content.styled(f"reading{glyphs.ellipsis}", "$quiet")]
    reading = snapshot.gpus
    if reading.problem is not None:
        return _problem_lines(reading.problem, width, glyphs)
    if not reading.gpus:
        nothing = wrapped("This machine has no GPU that the driver can see.", width, glyphs)
        return [Content.styled(line, "$quiet") for line in nothing]
    owners, difference = owners_by_pid(snapshot.instances), told_by_difference(snapshot.instances)

    def held(gpu: GpuSnapshot) -> tuple[Holder, ...]:
        return holders_of(gpu, owners, letters, difference)

    gpus = sorted(reading.gpus, key=lambda gpu: gpu.index)
    rows = list(_rows(gpus, held, glyphs, history))
    legend = legend_lines(on_all_gpus({gpu.index: held(gpu) for gpu in gpus if gpu.memory is not None}), width, glyphs)
    if height is not None and len(rows) + len(legend) > height and width >= _FOLD_LEAST:
        return [*_folded(rows, width, glyphs), *legend]
    return [*_bars(rows, width, glyphs, plot_cells(width) if history is not None else 0), *legend]


def panel_title(snapshot: Snapshot | None, width: int, lines: int, glyphs: Glyphs) -> str:
    """What the plots are; folded, there are none, and the GPUs' name stands here if it is one for all.

    Args:
        snapshot: None: nothing was read yet.
        width: of the panel's lines, in cells.
        lines: how many there are.
        glyphs: the signs of the screen.
    """
    minutes = round(plot_cells(width) * STEP_S / 60)
    gpus = snapshot.gpus.gpus if snapshot is not None else ()
    plots = f"{glyphs.rule} at the end: use and memory of the last {minutes} min " if minutes and gpus else ""
    if lines < len(gpus):
        names = {glyphs.plain(short_gpu_name(gpu.name)) for gpu in gpus}
        plots = f"{glyphs.rule} {len(gpus)} x {names.pop()} " if len(names) == 1 else ""
    return f" GPUs {plots}"


def most_lines(height: int, limit_percent: float) -> int:
    """Lines that the panel may take of a window so high, without its own frame."""
    return min(height - 2, int(height * limit_percent / 100) - 1)


def _problem_lines(problem: GpuProblem, width: int, glyphs: Glyphs) -> list[Content]:
    """What is the matter, and under its words what to do about it."""
    sign, indent = f"{glyphs.problem} ", "  "
    what, hint = (wrapped(text, width - len(indent), glyphs) for text in (problem.what, problem.hint))
    loud = [Content.styled((indent if number else sign) + line, "$error") for number, line in enumerate(what)]
    return [*loud, *(Content(indent + line) for line in hint)]


def _rows(
    gpus: Sequence[GpuSnapshot],
    held: Callable[[GpuSnapshot], tuple[Holder, ...]],
    glyphs: Glyphs,
    history: History | None,
) -> Iterator[_Row]:
    for gpu in gpus:
        name = glyphs.fit(glyphs.plain(short_gpu_name(gpu.name)), _NAME_CELLS)
        past = history(gpu.uuid) if history is not None else ()
        yield _Row(f"{gpu.index} {name}", _figures(gpu, glyphs), gpu, held(gpu), past)
        for part in gpu.instances:
            profile = glyphs.fit(glyphs.plain(part.name), _NAME_CELLS - len(_PART))
            figures = (_memory(part), "", "", "") if part.memory is not None else ()
            yield _Row(f"{_PART}{part.index} {profile}", figures, part, held(part))


def _figures(gpu: GpuSnapshot, glyphs: Glyphs) -> tuple[str, ...]:
    """Memory in use of all there is, utilization, temperature, power; `-` where the driver doesn't tell."""
    if gpu.memory is None:
        return ()
    power = None if gpu.power_w is None else round(gpu.power_w)
    return (
        _memory(gpu),
        f"{_or_dash(gpu.utilization_percent):>3} %",
        f"{_or_dash(gpu.temperature_c):>3} {glyphs.degrees}",
        f"{_or_dash(power):>4} W",
    )


def _memory(gpu: GpuSnapshot) -> str:
    if gpu.memory is None:
        return ""
    used = gpu.memory.total_bytes - gpu.memory.free_bytes
    whose = "host memory " if gpu.shares_host_memory else ""
    return f"{whose}{format_gib(used):>5} / {format_gib(gpu.memory.total_bytes)} GiB"


def _or_dash(value: int | None) -> str:
    return "-" if value is None else str(value)


def _bars(rows: Sequence[_Row], width: int, glyphs: Glyphs, plot: int = 0) -> list[Content]:
    head_cells = max(cell_len(row.head) for row in rows)
    room = width - head_cells - len(_GAP) - _plots_cells(plot)
    shown = _shown_figures(rows, room)
    if plot and len(shown) < max(len(row.figures) for row in rows):  # the figures come first
        return _bars(rows, width, glyphs)
    grid = _Grid(head_cells, room - sum(len(_GAP) + cells for cells in shown), shown, plot)
    return [_bar_line(row, grid, glyphs) for row in rows]


def _plots_cells(plot: int) -> int:
    return 2 * (len(_GAP) + plot) if plot else 0


def _shown_figures(rows: Sequence[_Row], room: int) -> list[int]:
    """Widths of the figures that fit beside a bar that can still be read; memory always does."""
    widths = [max(map(len, column)) for column in zip(*(row.figures for row in rows if row.figures), strict=True)]
    shown = widths[:1]
    for cells in widths[1:]:
        if room - sum(len(_GAP) + one for one in (*shown, cells)) < _BAR_LEAST:
            break
        shown.append(cells)
    return shown


def _bar_line(row: _Row, grid: _Grid, glyphs: Glyphs) -> Content:
    head = row.head + " " * (grid.head - cell_len(row.head)) + _GAP
    if row.gpu.memory is None:
        room = grid.bar + sum(len(_GAP) + cells for cells in grid.figures) + _plots_cells(grid.plot)
        return Content.assemble(head, (glyphs.fit(_trouble(row.gpu, glyphs), room), "$error"))
    figures = [f"{text:>{cells}}" for text, cells in zip(row.figures, grid.figures, strict=False)]
    bar = bar_content(row.holders, row.gpu.memory.free_bytes, grid.bar, glyphs)
    others = [_GAP + figure for figure in figures[1:]]
    return Content.assemble(head, bar, _GAP, (figures[0], "bold"), *others, *_plots(row.history, grid.plot, glyphs))


def _trouble(gpu: GpuSnapshot, glyphs: Glyphs) -> str:
    since = f"since {gpu.problem_since.astimezone():%H:%M}: " if gpu.problem_since is not None else ""
    trouble = gpu.problem or "the driver doesn't tell its memory"
    return f"{glyphs.problem} {since}{glyphs.plain(trouble)}"


def _plots(history: Sequence[Figures], cells: int, glyphs: Glyphs) -> list[tuple[str, str]]:
    """How busy it was, and how full; the newest at the end, and blank from before anybody looked."""
    if not cells:
        return []
    series = (tuple(figures[which] for figures in history[-cells:]) for which in (0, 1))
    return [(f"{_GAP}{_plot(values, cells, glyphs.ascii_only):>{cells}}", "$primary") for values in series]


@lru_cache(maxsize=256)
def _plot(values: tuple[float | None, ...], cells: int, ascii_only: bool) -> str:
    """A step is longer than the time between two looks: most are as they were."""
    return sparkline(values, cells, 1.0, ascii_only=ascii_only, missing=" ")


def _folded(rows: Sequence[_Row], width: int, glyphs: Glyphs) -> list[Content]:
    """Two GPUs side by side, the first half on the left; their names only where they differ."""
    if len({row.gpu.name for row in rows}) == 1:
        cells = max(len(str(row.gpu.index)) for row in rows)
        rows = [_Row(f"{row.gpu.index:>{cells}}", row.figures, row.gpu, row.holders) for row in rows]
    half = (width - len(_FOLD_GAP)) // 2
    lines = _bars(rows, half, glyphs)
    left, right = lines[: (len(lines) + 1) // 2], lines[(len(lines) + 1) // 2 :]
    pairs = [
        Content.assemble(one, " " * (half - one.cell_length), _FOLD_GAP, other)
        for one, other in zip(left, right, strict=False)
    ]
    return pairs + left[len(right) :]


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
