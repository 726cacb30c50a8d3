"""One-line news for a person: what is under way, what came of it, what failed and what to do about it."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from msgspec import Struct

from tui.app.core import StopOutcome
from tui.errors import SgltuiError
from tui.units import format_duration, format_gib

if TYPE_CHECKING:
    from tui.metrics.smoke import Smoke

_SHOWN = 3


class Kind(Enum):
    """How a notice is marked."""

    WORKING = "working"
    DONE = "done"
    NOTE = "note"
    PROBLEM = "problem"


class Trouble(Struct, frozen=True):
    """What went wrong, and what to do next."""

    what: str
    hint: str = ""


class Notice(Struct, frozen=True):
    """One line of news.

    Attributes:
        about: its subject; newer news about the same subject take its place.
    """

    about: str
    kind: Kind
    text: str
    hint: str = ""


def add_notice(notices: tuple[Notice, ...], news: Notice) -> tuple[Notice, ...]:
    """The newest last, one a subject. The oldest give way, failures last, and never one that is under way."""
    kept = [notice for notice in notices if notice.about != news.about]
    done = [notice for notice in kept if notice.kind is not Kind.WORKING]
    done.sort(key=lambda notice: notice.kind is Kind.PROBLEM)
    surplus = done[: max(0, len(kept) + 1 - _SHOWN)]
    return (*(notice for notice in kept if notice not in surplus), news)


def without(notices: tuple[Notice, ...], *subjects: str) -> tuple[Notice, ...]:
    """The others: news about these subjects is out of date."""
    return tuple(notice for notice in notices if notice.about not in subjects)


def unfinished(notices: tuple[Notice, ...]) -> tuple[Notice, ...]:
    """What stays when a person has read them all."""
    return tuple(notice for notice in notices if notice.kind is Kind.WORKING)


def is_passing(notice: Notice) -> bool:
    """It needs no answer, and goes by itself; failures stay until they are read."""
    return notice.kind in (Kind.DONE, Kind.NOTE)


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


def stop_notice(outcome: StopOutcome, *, kill: bool) -> Notice:
    """How a stop ended, in one line: how long it took, who is still there, and whether the memory is back."""
    clean = not outcome.survivors and outcome.released is not False
    verb = "killed" if kill else "stopped"
    if outcome.survivors:
        verb = f"not {verb}, {', '.join(f'pid {pid}' for pid in outcome.survivors)} still there"
    return Notice(
        outcome.name,
        Kind.DONE if clean else Kind.PROBLEM,
        f"{outcome.name} {verb} after {_seconds(outcome.seconds)}; {_memory_words(outcome)}",
        "" if clean else f"nvidia-smi and `sgltui ps` show who holds on; `sgltui stop {outcome.name} --kill`",
    )


def smoke_notice(name: str, about: str, result: Smoke) -> Notice:
    """How a server answered one small request."""
    if not result.ok:
        return Notice(about, Kind.PROBLEM, f"{name} didn't answer: {result.error}", "its log may say why")
    first = "" if result.time_to_first_token_s is None else f", first token after {result.time_to_first_token_s:.2f} s"
    speed = "" if result.tokens_per_s is None else f", {result.tokens_per_s:.0f} tokens/s"
    count = "" if result.completion_tokens is None else f" with {result.completion_tokens} tokens"
    return Notice(about, Kind.DONE, f"{name} answers{count}{first}{speed}")


def _seconds(seconds: float) -> str:
    return format_duration(seconds) if seconds >= 1 else "less than 1 s"


def _memory_words(outcome: StopOutcome) -> str:
    before, after = outcome.memory_before_bytes, outcome.memory_after_bytes
    if outcome.released is None:
        return "nobody can tell whether its GPU memory came back"
    if not outcome.released:
        return f"{_size(after)} did NOT come back"
    if before is None or after is None:
        return "none of its GPU memory is left"
    if before == 0:
        return "it held no GPU memory"
    return f"{_size(max(0, before - after))} came back"


def _size(size_bytes: int | None) -> str:
    return "its GPU memory" if size_bytes is None else f"{format_gib(size_bytes)} GiB"
