"""One-line news for a person: what is under way, what came of it, what failed and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from tui.app.core import StopOutcome
from tui.app.words import Glyphs
from tui.errors import SgltuiError
from tui.units import format_duration, format_gib

_SHOWN = 3
_EXACT_BELOW_S = 10


class Kind(Enum):
    """How a notice is marked."""

    WORKING = "working"
    DONE = "done"
    NOTE = "note"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Trouble:
    """What went wrong, and what to do next."""

    what: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Notice:
    """One line of news.

    Attributes:
        about: its subject; newer news about the same subject take its place.
    """

    about: str
    kind: Kind
    text: str
    hint: str = ""


def add_notice(notices: tuple[Notice, ...], news: Notice) -> tuple[Notice, ...]:
    """The newest last, one a subject. The oldest give way, but never one that is under way."""
    kept = [notice for notice in notices if notice.about != news.about]
    done = [notice for notice in kept if notice.kind is not Kind.WORKING]
    surplus = done[: max(0, len(kept) + 1 - _SHOWN)]
    return (*(notice for notice in kept if notice not in surplus), news)


def unfinished(notices: tuple[Notice, ...]) -> tuple[Notice, ...]:
    """What stays when a person has read them all."""
    return tuple(notice for notice in notices if notice.kind is Kind.WORKING)


def is_under_way(notices: tuple[Notice, ...], about: str) -> bool:
    """Something about this subject has begun and not ended."""
    return any(notice.about == about for notice in unfinished(notices))


def note(text: str) -> Notice:
    """An answer to a key that did nothing."""
    return Notice("", Kind.NOTE, text)


def trouble_of(error: Exception) -> Trouble:
    """A failure in words; one that isn't ours is named by its type, so that it can be reported."""
    if isinstance(error, SgltuiError):
        return Trouble(error.what, error.hint)
    return Trouble(f"{type(error).__name__}: {error}", "this is a bug in sgltui: please report these words")


def problem(about: str, trouble: Trouble) -> Notice:
    """News of a failure."""
    return Notice(about, Kind.PROBLEM, trouble.what, trouble.hint)


def stop_notice(outcome: StopOutcome, glyphs: Glyphs, *, kill: bool) -> Notice:
    """How a stop ended, in one line: memory before and after, how long it took, who is still there."""
    clean = not outcome.survivors and outcome.released is not False
    verb = ("killed" if kill else "stopped") if clean else "not gone cleanly"
    parts = (_memory_words(outcome, glyphs), _survivor_words(outcome.survivors))
    text = f"{outcome.name} {verb} after {_seconds(outcome.seconds)}: {'; '.join(parts)}"
    return Notice(
        outcome.name,
        Kind.DONE if clean else Kind.PROBLEM,
        text,
        "" if clean else f"nvidia-smi and `sgltui ps` show who holds on; `sgltui stop {outcome.name} --kill`",
    )


def _seconds(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < _EXACT_BELOW_S else format_duration(seconds)


def _memory_words(outcome: StopOutcome, glyphs: Glyphs) -> str:
    before, after = format_gib(outcome.memory_before_bytes), format_gib(outcome.memory_after_bytes)
    if outcome.released is None:
        return "GPU memory can't be read"
    back = "" if outcome.released else ", not all came back"
    return f"{before} {glyphs.arrow} {after} GiB{back}"


def _survivor_words(survivors: tuple[int, ...]) -> str:
    if not survivors:
        return "no process left"
    return "still there: " + ", ".join(f"pid {pid}" for pid in survivors)
