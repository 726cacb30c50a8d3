"""What is the matter with a server as lines: what happened, in numbers, what helps, the attempts, lines of its log."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal

from rich.cells import cell_len
from textual.content import Content

from tui.app.glyphs import Glyphs
from tui.app.widgets.budget_words import bullet_lines, choice_lines
from tui.app.wrapping import JOINT, joined, wrapped
from tui.diagnosis.classes import CLASSES, UNKNOWN
from tui.diagnosis.diagnosis import Change, Outcome
from tui.diagnosis.stored import Answer, Remark
from tui.diagnosis.words import describe_change
from tui.launch.explanation import Explanation, Mark, Quote
from tui.units import format_gib

if TYPE_CHECKING:
    from tui.launch.history import Attempt

Block = list[Content]
_ATTEMPTS_LINES = 2
_BADGES = {
    Outcome.FAILED: ("FAILED", "$error"),
    Outcome.RUNNING: ("RUNNING", "$success"),
    Outcome.STOPPED: ("STOPPED", "$quiet"),
    Outcome.UNKNOWN: ("UNKNOWN", "$quiet"),
}
_CONSEQUENCE = "(a consequence)"


def finding_lines(found: Explanation, width: int, height: int, glyphs: Glyphs, *, adjust_key: str = "") -> Block:
    """Everything that is known, no line wider than `width` cells.

    Where `height` lines are too few for all of it, what helps comes before the long explanation.
    """
    answer = found.answer
    head, words = _headline(answer, width, glyphs), _explanation(answer, width, glyphs)
    changes = _changes(answer.changes, width, glyphs, adjust_key)
    rest = [
        bullet_lines(answer.advice, width, glyphs),
        _attempts(found.attempts, width, glyphs),
        _quotes(found.quotes, width, glyphs),
        _remarks(answer.findings, width, glyphs),
        _progress(found, glyphs),
    ]
    whole = [head + words, changes, *rest]
    if _count(whole) <= height:
        return _stacked(whole, blank=_count(whole) + sum(map(bool, whole)) - 1 <= height)
    return _stacked([head + changes, words, *rest], blank=False)


def attempt_words(attempt: Attempt) -> str:
    """`#2 mem-fraction-static 0.9, max-running-requests 512: short by 259.8 GiB`."""
    changed = ", ".join(words.removeprefix("--").replace("without --", "without ") for words in attempt.changed)
    number = attempt_number(attempt.launch)
    return (
        f"#{number}{JOINT}{changed}: {outcome_words(attempt)}"
        if changed
        else f"#{number}{JOINT}{outcome_words(attempt)}"
    )


def outcome_words(attempt: Attempt) -> str:
    """By how much it was short, or how it ended and how far it had come."""
    if attempt.short_bytes:
        return f"short by {format_gib(attempt.short_bytes)} GiB"
    if attempt.was_ready:
        return f"was ready, {attempt.state}"
    return f"{attempt.state} in {attempt.stage}" if attempt.stage is not None else str(attempt.state)


def attempt_number(launch: str) -> int:
    """Launches are counted in their names: `20261129T171001Z-0007`."""
    number = launch.rpartition("-")[2]
    return int(number) if number.isdecimal() else 1


def _headline(answer: Answer, width: int, glyphs: Glyphs) -> Block:
    """The outcome on a ground, and the finding in a few words."""
    word, style = _BADGES[answer.outcome]
    if answer.outcome is Outcome.RUNNING and not answer.is_healthy:
        word, style = "TROUBLE", "$warning"
    where = f" in {answer.stage}" if answer.outcome is Outcome.FAILED else ""
    badge = f" {word}{where} "
    first, *others = wrapped(_what(answer), width - len(badge) - 1, glyphs)
    indent = " " * (len(badge) + 1)
    head = Content.assemble((badge, f"bold $ink on {style}"), (f" {first}", "bold"))
    return [head, *(Content.styled(indent + other, "bold") for other in others)]


def _what(answer: Answer) -> str:
    if answer.is_healthy:
        return "nothing is wrong with it, as far as its log tells"
    if answer.failure == UNKNOWN:
        return "nobody has met this before: its own line is all that is known"
    known = CLASSES.get(answer.failure)
    return answer.brief or (known.meaning if known is not None else answer.failure)


def _explanation(answer: Answer, width: int, glyphs: Glyphs) -> Block:
    return [Content(line) for line in wrapped(answer.explanation, width, glyphs)] if not answer.is_healthy else []


def _changes(changes: Sequence[Change], width: int, glyphs: Glyphs, adjust_key: str) -> Block:
    if not changes:
        return []
    rows = [_change_row(change, glyphs) for change in changes]
    key = f" ({adjust_key} changes flags and launches again)" if adjust_key else ""
    return choice_lines(f"What would help{key}", rows, width, glyphs)


def _change_row(change: Change, glyphs: Glyphs) -> tuple[str, str, str]:
    price = f"costs {change.costs}" if change.costs else ""
    what, effect, price = (joined(text, glyphs) for text in (describe_change(change), change.effect, price))
    return what, effect, price


def _attempts(attempts: Sequence[Attempt], width: int, glyphs: Glyphs) -> Block:
    """The last ones that have room, oldest first."""
    if len(attempts) <= 1:
        return []
    words = [attempt_words(attempt) for attempt in attempts]
    for first in range(len(words)):
        text = "attempts: " + f" {glyphs.dot} ".join(words[first:])
        lines = wrapped(text, width, glyphs)
        if len(lines) <= _ATTEMPTS_LINES:
            break
    return [Content.styled(line, "$quiet") for line in lines[:_ATTEMPTS_LINES]]


def _quotes(quotes: Sequence[Quote], width: int, glyphs: Glyphs) -> Block:
    cells = max((len(str(quote.number)) for quote in quotes), default=0)
    return [_quote(quote, cells, width, glyphs) for quote in quotes]


def _quote(quote: Quote, cells: int, width: int, glyphs: Glyphs) -> Content:
    is_root = quote.mark is Mark.ROOT
    sign = f"{glyphs.problem if is_root else ' '} {quote.number:>{cells}} {glyphs.wall} "
    tail = f"   {_CONSEQUENCE}" if quote.mark is Mark.CONSEQUENCE else ""
    text = glyphs.fit(glyphs.plain(quote.text), max(0, width - cell_len(sign) - len(tail)))
    style: Literal["bold $error", "$quiet"] = "bold $error" if is_root else "$quiet"
    return Content.assemble((sign, style), (text, style if is_root else ""), (tail, "$quiet"))


def _remarks(remarks: Iterable[Remark], width: int, glyphs: Glyphs) -> Block:
    return bullet_lines([_remark(remark) for remark in remarks], width, glyphs)


def _remark(remark: Remark) -> str:
    times = f", {remark.count} times" if remark.count > 1 else ""
    return remark.text if remark.line is None else f"{remark.text} (line {remark.line}{times})"


def _progress(found: Explanation, glyphs: Glyphs) -> Block:
    if found.done >= 1:
        return []
    return [Content.styled(f"its log is being read{glyphs.ellipsis} {found.done:.0%}", "$quiet")]


def _count(blocks: Iterable[Block]) -> int:
    return sum(map(len, blocks))


def _stacked(blocks: Iterable[Block], *, blank: bool) -> Block:
    lines: Block = []
    for block in blocks:
        if block and lines and blank:
            lines.append(Content())
        lines += block
    return lines
