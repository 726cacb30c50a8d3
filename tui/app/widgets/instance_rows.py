"""The servers as rows of a table: pure functions from what is known to cells of text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct, structs
from msgspec.structs import replace
from rich.cells import cell_len

from tui.app.glyphs import Glyphs
from tui.app.holders import Letters, letter_style
from tui.app.words import STATE_STYLES, format_indices, last_word, state_words, without_folders
from tui.keeper.states import ALIVE, State
from tui.metrics.live import LiveMetrics
from tui.observe import BrokenRecord, Instance, Snapshot
from tui.units import format_duration, format_gib

_WIDE_FROM_CELLS, _WIDER_FROM_CELLS = 100, 118  # the last word needs its room first
_NAME_SHARE = 0.4  # of the room that the name shares with the last word
_NAME_LEAST = 10
_PADDING = 2  # a cell on either side of each column
_WORD_LEAST = 12  # of the last word
_STARTING = frozenset({State.PENDING, State.STARTING, State.LOADING})
_WENT_WRONG = frozenset({State.FAILED, State.LOST})


class Column(Struct, frozen=True):
    """One column; the room that is left goes to name and last word.

    Attributes:
        least: cells.
        from_cells: of the table, from which on it is shown.
        is_live: shown only while some server tells what it does.
        is_rare: shown only where some server has it: most models have no state slots.
    """

    key: str
    header: str
    least: int
    right: bool = False
    from_cells: int = 0
    is_live: bool = False
    is_rare: bool = False


COLUMNS = (
    Column("mark", "", 2),
    Column("name", "name", _NAME_LEAST),
    Column("state", "state", 15),
    Column("gpu", "GPU", 3),
    Column("port", "port", 5, right=True, from_cells=_WIDE_FROM_CELLS),
    Column("gib", "GiB", 5, right=True),
    Column("up", "up", 5, right=True, from_cells=_WIDE_FROM_CELLS),
    Column("requests", "run/queue", 9, right=True, from_cells=_WIDE_FROM_CELLS, is_live=True),
    Column("speed", "tok/s", 5, right=True, from_cells=_WIDER_FROM_CELLS, is_live=True),
    Column("kv", "KV", 4, right=True, from_cells=_WIDER_FROM_CELLS, is_live=True),
    Column("slots", "slots", 5, right=True, from_cells=_WIDER_FROM_CELLS, is_live=True, is_rare=True),
    Column("word", "last word", 0),
)
_SINCE = "since"  # no column: how long a start takes already, behind the last word where no column says it
_FLEXIBLE = ("name", "word")
_FIRST_TO_GO = ("slots", "kv", "speed", "port", "requests", "up", "gpu", "gib")  # where figures are longer than usual


class Cell(Struct, frozen=True):
    """Text and the theme's style for it."""

    text: str
    style: str = ""


Row = Mapping[str, Cell]
Entry = Instance | BrokenRecord
"""What has a row: a server, or a record of one that can't be read."""


def ordered(snapshot: Snapshot) -> list[Entry]:
    """The living first, then what went wrong, then what ended well; the newest first among each."""
    by_name = sorted(snapshot.instances, key=lambda one: one.name)
    by_age = sorted(by_name, key=lambda one: one.launch, reverse=True)
    broken = sorted(snapshot.broken, key=lambda one: one.name)
    return sorted([*by_age, *broken], key=_rank)


def _rank(entry: Entry) -> int:
    if isinstance(entry, BrokenRecord):
        return 2
    if entry.state in ALIVE:
        return 0
    return 1 if entry.state in _WENT_WRONG else 3


def with_stopping(snapshot: Snapshot, stopping: frozenset[str]) -> Snapshot:
    """The snapshot with those servers shown as stopping that were asked to, before their records say so."""
    return structs.replace(
        snapshot,
        instances=tuple(
            structs.replace(one, state=State.STOPPING, progress=None)
            if one.name in stopping and one.state in ALIVE
            else one
            for one in snapshot.instances
        ),
    )


def row_of(entry: Entry, gpu_indices: Mapping[str, int], letters: Letters, glyphs: Glyphs, *, selected: bool) -> Row:
    """The cells of one row, the last word still in full."""
    pointer = glyphs.pointer if selected else " "
    if isinstance(entry, BrokenRecord):
        return _broken_row(entry, glyphs, pointer)
    return _instance_row(entry, gpu_indices, letters, glyphs, pointer)


def _broken_row(record: BrokenRecord, glyphs: Glyphs, pointer: str) -> Row:
    return {
        **{column.key: Cell("-") for column in COLUMNS},
        "mark": Cell(pointer),
        "name": Cell(glyphs.plain(record.name)),
        "state": Cell(f"{glyphs.problem} broken record", "$error"),
        "word": Cell(glyphs.plain(without_folders(record.message))),
        _SINCE: Cell(""),
    }


def _instance_row(
    instance: Instance, gpu_indices: Mapping[str, int], letters: Letters, glyphs: Glyphs, pointer: str
) -> Row:
    letter = letters.get(instance.name, " ")
    style = STATE_STYLES.get(instance.state, "")
    faded = "" if instance.state in ALIVE or instance.state in _WENT_WRONG else "$quiet"
    known = [gpu_indices[uuid] for uuid in instance.gpus if uuid in gpu_indices]
    return {
        "mark": Cell(pointer + letter, letter_style(letter)),
        "name": Cell(glyphs.plain(instance.name), faded),
        "state": Cell(f"{glyphs.states[instance.state]} {state_words(instance)}", style),
        "gpu": Cell(format_indices(known) if instance.local and known else "-", faded),
        "port": Cell("-" if instance.port is None else str(instance.port), faded),
        "gib": Cell(_memory(instance), faded),
        "up": Cell(format_duration(instance.uptime_s if instance.state in ALIVE else None), faded),
        **_live_cells(instance.live if instance.state in ALIVE else None),
        "word": Cell(glyphs.plain(last_word(instance)), faded),
        _SINCE: Cell(format_duration(instance.uptime_s) if instance.state in _STARTING and instance.uptime_s else ""),
    }


def _memory(instance: Instance) -> str:
    """What it holds; marked where that is only told by difference."""
    return ("~" if instance.memory_by_difference else "") + format_gib(instance.memory_bytes or None)


def _live_cells(live: LiveMetrics | None) -> dict[str, Cell]:
    """What it does now; a dash where nobody tells."""
    if live is None:
        return {column.key: Cell("-", "$quiet") for column in COLUMNS if column.is_live}
    queued = "?" if live.queued is None else live.queued
    return {
        "requests": Cell("-" if live.running is None else f"{live.running} / {queued}"),
        "speed": Cell("-" if live.tokens_per_s is None else f"{live.tokens_per_s:.0f}"),
        "kv": Cell(_share(live.kv_usage)),
        "slots": Cell(_share(live.slot_usage)),
    }


def _share(share: float | None) -> str:
    return "-" if share is None else f"{share * 100:.0f} %"


def layout(rows: Sequence[Row], width: int) -> dict[str, int]:
    """Which columns are shown, in order, and how wide each is inside its padding, for a table of `width` cells."""
    told = {column.key for column in COLUMNS if any(row[column.key].text != "-" for row in rows)}
    lives = any(column.is_live and column.key in told for column in COLUMNS)
    columns = [
        column
        for column in COLUMNS
        if width >= column.from_cells and (lives or not column.is_live) and (column.key in told or not column.is_rare)
    ]
    widths = {column.key: _needed(column, rows) for column in columns}
    for key in _FIRST_TO_GO:
        if _room(widths, width) >= _NAME_LEAST + _WORD_LEAST:
            break
        widths.pop(key, None)
    room = _room(widths, width)
    name = min(widths["name"], max(_NAME_LEAST, int(room * _NAME_SHARE)))
    return {**widths, "name": name, "word": max(0, room - name)}


def _room(widths: Mapping[str, int], width: int) -> int:
    """What is left for name and last word."""
    fixed = sum(_PADDING + cells for key, cells in widths.items() if key not in _FLEXIBLE)
    return width - fixed - len(_FLEXIBLE) * _PADDING


def fitted(row: Row, widths: Mapping[str, int], glyphs: Glyphs) -> tuple[Cell, ...]:
    """The shown cells, cut and padded to their columns."""
    columns = [column for column in COLUMNS if column.key in widths]
    if "up" not in widths and row[_SINCE].text:
        words = ", ".join(cell.text for cell in (row["word"], row[_SINCE]) if cell.text)
        if cell_len(words) <= widths["word"]:
            row = {**row, "word": replace(row["word"], text=words)}
    return tuple(_aligned(row[column.key], column, widths[column.key], glyphs) for column in columns)


def header_of(widths: Mapping[str, int]) -> tuple[Cell, ...]:
    """The headers of the shown columns."""
    shown = ((column, widths[column.key]) for column in COLUMNS if column.key in widths)
    return tuple(Cell(column.header.rjust(cells) if column.right else column.header) for column, cells in shown)


def _aligned(cell: Cell, column: Column, width: int, glyphs: Glyphs) -> Cell:
    text = glyphs.fit(cell.text, width)
    return replace(cell, text=text.rjust(width) if column.right else text)


def _needed(column: Column, rows: Sequence[Row]) -> int:
    return max([column.least, cell_len(column.header), *(cell_len(row[column.key].text) for row in rows)])
