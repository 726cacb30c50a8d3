"""Explanations of real logs, as a core would give them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.support.diagnosing import LOGS
from tui.diagnosis.diagnosis import Ending
from tui.diagnosis.progress import Stage
from tui.diagnosis.stored import answer_of
from tui.keeper.states import State
from tui.launch.explain import Case, explain
from tui.launch.explanation import Explanation
from tui.launch.explanations import quote_lines
from tui.launch.history import Attempt
from tui.sglang.versions import parse_release
from tui.units import GIB

STORY_LOG = LOGS / "story-mamba-spec-pool.log"
ROOT_TEXT = "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static."


def explained(log: Path, state: State = State.FAILED, returncode: int | None = -9) -> Explanation:
    """What is the matter, by a log of SGLang 0.5.11 and how it ended; None: it runs."""
    now = datetime(2026, 1, 1) if returncode is None else None  # noqa: DTZ001 as logs have it
    found = explain(Case(log, parse_release("0.5.11"), Ending(returncode, now)))
    answer = answer_of(found.diagnosis, found.secrets)
    quotes, marks = quote_lines(log, answer, found.secrets)
    return Explanation("one/x", state, answer, quotes, marks)


def attempt(number: int, state: State = State.FAILED, **changes: object) -> Attempt:
    """One of several, a day apart."""
    fields: dict[str, object] = {
        "name": "qwen36-512",
        "launch": f"20261129T16{number:02}01Z-{number:04}",
        "state": state,
        "created_at": datetime.now(UTC) - timedelta(days=10 - number),
        "ended_at": None,
        "attempt": 1,
        "preset": None,
        "sglang_version": "0.5.11",
        "changed": (),
        "stage": Stage.MEMORY_POOL,
        "was_ready": False,
        "short_bytes": None,
        "cause": None,
    }
    return Attempt(**{**fields, **changes})  # type: ignore[arg-type]  # names are checked by the constructor


ATTEMPTS = (
    attempt(1, short_bytes=3 * GIB, cause="state for drafts 27.5 GiB, the pools have 24.4"),
    attempt(
        2,
        short_bytes=round(259.8 * GIB),
        changed=("--mem-fraction-static 0.9", "--max-running-requests 512"),
        cause="state for drafts 293.6 GiB, the pools have 33.9",
    ),
    attempt(
        3,
        short_bytes=255 * GIB,
        changed=("--mem-fraction-static 0.95",),
        cause="state for drafts 293.6 GiB, the pools have 38.6",
    ),
)
"""The story's: the fraction is raised in vain."""
