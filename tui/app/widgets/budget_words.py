"""The verdict on a launch in words: whether it fits and why, what would fit, and what else is to be known."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from tui.app.glyphs import Glyphs
from tui.app.notices import Trouble
from tui.app.wrapping import drawn, joined, wrapped
from tui.budget.types import FlagChange, MemoryBudget, Verdict

MOST_CHANGES = 3
BADGES = {
    Verdict.FITS: (" FITS ", "$success"),
    Verdict.TIGHT: (" TIGHT ", "$warning"),
    Verdict.EXCEEDS: (" DOESN'T FIT ", "$error"),
    Verdict.UNKNOWN: (" CAN'T TELL ", "$quiet"),
}
_SAID = "can't tell: "  # the badge says it already
_SPECULATIVE = "speculative-"
_GAP = "   "
_NO_PLAN = "a plan forbids nothing: SGLang may start it all the same, and its log then has the figures"


def verdict_lines(budget: MemoryBudget, width: int, glyphs: Glyphs) -> list[Content]:
    """The verdict as a word on a ground, and beside it the sentence with the numbers."""
    reason = budget.reason.removeprefix(_SAID)
    lines = _badged(budget.verdict, reason, width, glyphs)
    if budget.verdict is Verdict.UNKNOWN:
        lines += bullet_lines([_NO_PLAN], width, glyphs)
    return lines


def trouble_lines(trouble: Trouble, width: int, glyphs: Glyphs) -> list[Content]:
    """Why there is no plan, and what to do about it."""
    lines = _badged(Verdict.UNKNOWN, trouble.what, width, glyphs)
    return lines + (bullet_lines([trouble.hint], width, glyphs) if trouble.hint else [])


def change_lines(changes: Sequence[FlagChange], width: int, glyphs: Glyphs) -> list[Content]:
    """What would fit, a numbered line a change: what to set, what it brings, what it costs; columns where they fit."""
    if not changes:
        return []
    title = "What would fit" if any(one.verdict is Verdict.FITS for one in changes) else "What would start at least"
    return choice_lines(title, [_change_row(change, glyphs) for change in changes[:MOST_CHANGES]], width, glyphs)


def wanted_lines(count: int, glyphs: Glyphs) -> list[Content]:
    """The place of changes that are still looked for, so that nothing below moves when they come."""
    return [Content.styled(f"What would fit{glyphs.ellipsis}", "bold $quiet"), *[Content()] * count]


def choice_lines(title: str, rows: Sequence[tuple[str, str, str]], width: int, glyphs: Glyphs) -> list[Content]:
    """Numbered choices: what to do, what it brings, what it costs; in columns where they fit."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [Content.styled(title, "bold")]
    if len("1  ") + sum(widths) + 2 * len(_GAP) <= width:
        return lines + [_change_columns(number, row, widths) for number, row in enumerate(rows, start=1)]
    for number, row in enumerate(rows, start=1):
        lines += _change_sentence(number, row, width, glyphs)
    return lines


def describe_change(change: FlagChange) -> str:
    """What to do: `max-running-requests 8`, `no speculation`, `SGLang 0.5.13 or later`."""
    words = [name if value == "true" else f"{name} {value}" for name, value in change.set.items()]
    if change.unset and all(name.startswith(_SPECULATIVE) for name in change.unset):
        words.append("no speculation")
    elif change.unset:
        words.append("without " + ", ".join(change.unset))
    if change.upgrade is not None:
        words.append(f"SGLang {change.upgrade} or later")
    return " and ".join(words)


def note_lines(budget: MemoryBudget, width: int, glyphs: Glyphs) -> list[Content]:
    """What SGLang would say, what is doubtful, and what is good to know."""
    error = [f"SGLang would end with: {budget.expected_error}"] if budget.expected_error is not None else []
    return bullet_lines([*error, *budget.warnings, *budget.notes], width, glyphs)


def bullet_lines(sentences: Sequence[str], width: int, glyphs: Glyphs) -> list[Content]:
    """A dot before each sentence; what goes on below stands under its first word."""
    lines = []
    for sentence in sentences:
        first, *others = wrapped(sentence, width - 2, glyphs)
        lines += [Content.styled(f"{glyphs.dot} {first}", "$quiet")]
        lines += [Content.styled(f"  {other}", "$quiet") for other in others]
    return lines


def _badged(verdict: Verdict, sentence: str, width: int, glyphs: Glyphs) -> list[Content]:
    badge, style = BADGES[verdict]
    first, *others = wrapped(sentence, width - len(badge) - 1, glyphs)
    indent = " " * (len(badge) + 1)
    head = Content.assemble((badge, f"bold $ink on {style}"), f" {first}")
    return [head, *(Content(indent + other) for other in others)]


def _change_row(change: FlagChange, glyphs: Glyphs) -> tuple[str, str, str]:
    effect = change.effect.replace(" at once", "")
    barely = "barely: " if change.verdict is Verdict.TIGHT else ""
    costs = change.costs.replace(" at once", "")
    price = f"costs {costs}" if costs else ""
    what, effect, price = (joined(text, glyphs) for text in (describe_change(change), barely + effect, price))
    return what, effect, price


def _change_columns(number: int, row: Sequence[str], widths: Sequence[int]) -> Content:
    what, effect, price = (drawn(text.ljust(cells)) for text, cells in zip(row, widths, strict=True))
    return Content.assemble(f"{number}  ", (what, "bold"), f"{_GAP}{effect}", (f"{_GAP}{price}".rstrip(), "$quiet"))


def _change_sentence(number: int, row: Sequence[str], width: int, glyphs: Glyphs) -> list[Content]:
    first, *others = wrapped(f" {glyphs.dot} ".join(filter(None, row)), width - 3, glyphs)
    what = drawn(row[0])
    head, rest = (what, first.removeprefix(what)) if first.startswith(what) else ("", first)
    return [Content.assemble(f"{number}  ", (head, "bold"), rest), *(Content(f"   {other}") for other in others)]
