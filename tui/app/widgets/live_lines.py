"""What a server does as lines: what limits it, what would help and at which price, and its last hour."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct
from textual.content import Content

from tui.app.advice import AdviceAnswer
from tui.app.curves import in_steps, round_top
from tui.app.glyphs import Glyphs
from tui.app.widgets.budget_words import MOST_CHANGES, bullet_lines, choice_lines, describe_change
from tui.app.wrapping import joined, wrapped
from tui.budget.types import FlagChange
from tui.metrics.limits import RELIEVED, Bound
from tui.metrics.live import LiveMetrics, Source
from tui.metrics.plot import sparkline

Block = list[Content]
_HOUR_S = 3600
_STEPS = (60, 30, 20, 0)  # cells of a plot: one, two or three minutes each, or none
_LABEL, _FIGURE = 6, 7
_BADGES = {Bound.NOTHING: ("NOT LIMITED", "$success"), Bound.UNKNOWN: ("CAN'T TELL", "$quiet")}
_NO_FLAG = "no single flag would help on these GPUs, as far as can be planned"
_ALL_THEY_CAN = "no flag gives it more: its GPUs do all they can"


class _Curve(Struct, frozen=True):
    """One row. `top` is what fills a cell; None: as much as it was at most."""

    label: str
    read: Callable[[LiveMetrics], float | None]
    form: str
    top: float | None = None


_CURVES = (
    _Curve("run", lambda live: live.running, "{:.0f}"),
    _Curve("queue", lambda live: live.queued, "{:.0f}"),
    _Curve("tok/s", lambda live: live.tokens_per_s, "{:.0f}"),
    _Curve("KV", lambda live: live.kv_usage, "{:.0%}", 1.0),
    _Curve("slots", lambda live: live.slot_usage, "{:.0%}", 1.0),
)


def live_lines(answer: AdviceAnswer, width: int, height: int, glyphs: Glyphs, *, adjust_key: str = "") -> Block:
    """All of it, no line wider than `width` cells.

    Where `height` lines are too few, the curves stay and the later ones of the changes go.
    """
    head, curves = _head(answer, width, glyphs), _curves(answer.history, width, glyphs)
    notes = _notes(answer, width, glyphs)
    for most in range(MOST_CHANGES, 0, -1):
        changes = _changes(answer, most, width, glyphs, adjust_key)
        if len(head) + len(changes) + len(curves) + len(notes) <= height:
            break
    blocks = [head, changes, curves, notes]
    airy = sum(map(len, blocks)) + sum(map(bool, blocks)) - 1 <= height
    return _stacked(blocks, blank=airy)


def _head(answer: AdviceAnswer, width: int, glyphs: Glyphs) -> Block:
    """The limit on a ground, and the figures that show it."""
    limit = answer.limit
    word, style = _BADGES.get(limit.bound, (f"LIMITED by {limit.bound}", "$warning"))
    badge = f" {word} "
    first, *others = wrapped(limit.why, width - len(badge) - 1, glyphs)
    indent = " " * (len(badge) + 1)
    return [
        Content.assemble((badge, f"bold $ink on {style}"), f" {first}"),
        *(Content(indent + other) for other in others),
    ]


def _changes(answer: AdviceAnswer, most: int, width: int, glyphs: Glyphs, adjust_key: str) -> Block:
    if answer.changes:
        key = f" ({adjust_key} takes it to the flags)" if adjust_key else ""
        rows = [_row(change, glyphs) for change in answer.changes[:most]]
        return choice_lines(f"What would help{key}", rows, width, glyphs)
    return bullet_lines([words], width, glyphs) if (words := _instead_of_changes(answer, glyphs)) else []


def _row(change: FlagChange, glyphs: Glyphs) -> tuple[str, str, str]:
    what, effect, price = (
        joined(text, glyphs) for text in (describe_change(change), change.effect, f"costs {change.costs}")
    )
    return what, effect, price


def _instead_of_changes(answer: AdviceAnswer, glyphs: Glyphs) -> str:
    if answer.trouble is not None:
        hint = f"; {answer.trouble.hint}" if answer.trouble.hint else ""
        return answer.trouble.what + hint
    if answer.limit.bound is Bound.COMPUTE:
        return _ALL_THEY_CAN
    if answer.limit.bound not in RELIEVED:
        return ""
    return f"working out what would help{glyphs.ellipsis}" if answer.changes is None else _NO_FLAG


def _notes(answer: AdviceAnswer, width: int, glyphs: Glyphs) -> Block:
    """What keeps it from telling more."""
    newest = answer.history[-1] if answer.history else None
    if newest is None:
        return []
    if newest.trouble:
        return bullet_lines([newest.trouble], width, glyphs)
    if answer.limit.bound is Bound.UNKNOWN and newest.source is not Source.METRICS:
        return bullet_lines(["launched with --enable-metrics it tells more"], width, glyphs)
    return []


def _curves(history: Sequence[LiveMetrics], width: int, glyphs: Glyphs) -> Block:
    """A plot a figure that somebody told, all over the same hour; the newest figure and the largest beside it."""
    cells = next(steps for steps in _STEPS if _LABEL + steps + _FIGURE <= width or not steps)
    has_most = _LABEL + cells + 2 * _FIGURE <= width
    rows = [line for curve in _CURVES if (line := _line(curve, history, cells, glyphs, has_most=has_most)) is not None]
    if not rows:
        return []
    minutes = _HOUR_S // 60 // cells if cells else 60
    scale = "last hour" if not cells else f"last hour, {'a minute' if minutes == 1 else f'{minutes} minutes'} a cell"
    most = f"{'most':>{_FIGURE}}" if has_most else ""
    return [Content.styled(f"{scale:<{_LABEL + cells}}{'now':>{_FIGURE}}{most}", "$quiet"), *rows]


def _line(
    curve: _Curve, history: Sequence[LiveMetrics], cells: int, glyphs: Glyphs, *, has_most: bool
) -> Content | None:
    points = [(one.at.timestamp(), curve.read(one)) for one in history]
    largest = max((value for _, value in points if value is not None), default=None)
    if largest is None:
        return None
    now_s, now = points[-1]
    top = curve.top or round_top(largest)
    values = in_steps(points, now_s, _HOUR_S / cells, cells) if cells else []
    plot = sparkline(values, cells, top, ascii_only=glyphs.ascii_only, missing=glyphs.free)
    parts = [(cell, "$free" if value is None else "$primary") for cell, value in zip(plot, values, strict=True)]
    figures = "-" if now is None else curve.form.format(now)
    return Content.assemble(
        f"{curve.label:<{_LABEL}}",
        *_joined(parts),
        (f"{figures:>{_FIGURE}}", "bold"),
        (f"{curve.form.format(largest):>{_FIGURE}}" if has_most else "", "$quiet"),
    )


def _joined(parts: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Neighbours of one style as one piece."""
    pieces: list[tuple[str, str]] = []
    for text, style in parts:
        if pieces and pieces[-1][1] == style:
            pieces[-1] = pieces[-1][0] + text, style
        else:
            pieces.append((text, style))
    return pieces


def _stacked(blocks: Sequence[Block], *, blank: bool) -> Block:
    lines: Block = []
    for block in blocks:
        if block and lines and blank:
            lines.append(Content())
        lines += block
    return lines
