"""The dashboard's upper part, as it will look, drawn without a screen: what a person sees while the screen is made.

To import Textual takes 0.2 s, and to make a screen of sixty widgets twice that; what was seen of the machine is there
before. GPUs and servers are drawn by the same functions as later, in the same places.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping

from msgspec import Struct
from rich.style import Style as RichStyle
from textual.content import Content
from textual.strip import Strip
from textual.style import Style

from tui.app.glyphs import Glyphs
from tui.app.gpu_history import GpuHistory
from tui.app.holders import Letters, assign_letters, lettered_names
from tui.app.widgets.cell_pen import color_style, draw_cells
from tui.app.widgets.gpu_lines import most_lines, panel_lines, panel_title
from tui.app.widgets.instance_rows import fitted, header_of, layout, ordered, row_of
from tui.app.widgets.row_pen import row_pen
from tui.app.widgets.title_words import title_content
from tui.observe import Snapshot

_PADDING = 1  # of the panel of GPUs, on either side
_SCROLLBAR = 1  # whose room the table keeps
_RULE, _HEAVY_RULE, _ASCII_RULE = "─", "━", "-"


class Frame(Struct, frozen=True):
    """What the first look is drawn in.

    Attributes:
        size: columns and lines of the window.
        colors: the theme's variables.
        where: what the title line calls this machine.
        gpus_percent: of the height that the GPUs may take; None: they are hidden.
        servers_percent: likewise.
    """

    size: tuple[int, int]
    colors: Mapping[str, str]
    glyphs: Glyphs
    where: str
    read_only: bool
    gpus_percent: float | None
    servers_percent: float


def draw(snapshot: Snapshot, frame: Frame) -> list[Strip]:
    """Title, GPUs, servers, and nothing below; as many rows as the window has, each as wide."""
    width, height = frame.size
    letters = assign_letters({}, lettered_names(snapshot))
    rows = [*_title(snapshot, frame), *_gpus(snapshot, letters, frame), *_servers(snapshot, letters, frame)][:height]
    blank = Strip.blank(width, _ground(frame))
    return [*rows, *[blank] * (height - len(rows))]


def _title(snapshot: Snapshot, frame: Frame) -> Iterator[Strip]:
    width, _ = frame.size
    words = title_content(frame.where, snapshot.gpus, width, frame.glyphs, read_only=frame.read_only)
    yield _pen(frame)(words, width)


def _gpus(snapshot: Snapshot, letters: Letters, frame: Frame) -> Iterator[Strip]:
    if frame.gpus_percent is None:
        return
    width, height = frame.size
    room, now_s, history = width - 2 * _PADDING, time.monotonic(), GpuHistory()
    history.note(snapshot.gpus, now_s)
    most = most_lines(height, frame.gpus_percent)
    lines = panel_lines(
        snapshot, letters, room, frame.glyphs, history=lambda uuid: history.of(uuid, now_s), height=most
    )
    yield _rule(panel_title(snapshot, room, len(lines), frame.glyphs), "$quiet", "$border-blurred", _RULE, frame)
    pen, pad = _pen(frame), Strip.blank(_PADDING, _ground(frame))
    for line in lines[:most]:
        yield Strip.join([pad, pen(line, room), pad])


def _servers(snapshot: Snapshot, letters: Letters, frame: Frame) -> Iterator[Strip]:
    """The table, which has the keys, and its first row, which is selected; nothing where there are none."""
    entries, glyphs = ordered(snapshot), frame.glyphs
    if not entries:
        return
    width, height = frame.size
    room = width - (0 if glyphs.ascii_only else _SCROLLBAR)
    indices = {gpu.uuid: gpu.index for gpu in snapshot.gpus.gpus}
    rows = [row_of(one, indices, letters, glyphs, selected=number == 0) for number, one in enumerate(entries)]
    widths = layout(rows, room)
    ground = _ground(frame)
    cursor = RichStyle(
        bold="bold" in frame.colors["block-cursor-text-style"],
        bgcolor=color_style("$block-cursor-background", frame.colors).color,
    )
    plain = ground + color_style("$foreground", frame.colors)
    yield _rule(" Servers ", "bold $foreground", "$border", _HEAVY_RULE, frame)
    cells = [header_of(widths), *(fitted(row, widths, glyphs) for row in rows)]
    styles = [ground + color_style("$quiet", frame.colors), plain + cursor, *[plain] * len(rows)]
    gutter = Strip.blank(width - room, ground)
    for row, style in list(zip(cells, styles, strict=False))[: int(height * frame.servers_percent / 100) - 1]:
        drawn = draw_cells(row, widths.values(), room, style, lambda name: color_style(name, frame.colors))
        yield Strip.join([drawn, gutter])


def _rule(title: str, title_style: str, line_style: str, sign: str, frame: Frame) -> Strip:
    """The upper edge of a panel."""
    width, _ = frame.size
    sign = _ASCII_RULE if frame.glyphs.ascii_only else sign
    words = Content.assemble((sign, line_style), (title, title_style))
    return _pen(frame)(Content.assemble(words, (sign * (width - words.cell_length), line_style)), width)


def _pen(frame: Frame) -> Callable[[Content, int], Strip]:
    own = Style.parse(f"{frame.colors['foreground']} on {frame.colors['background']}")
    return row_pen(own, lambda words: words if isinstance(words, Style) else Style.parse(words, dict(frame.colors)))


def _ground(frame: Frame) -> RichStyle:
    return RichStyle(bgcolor=color_style("$background", frame.colors).color)
