"""What a diagnosis says. Sizes in GiB, lines 1-based; None is "not known"."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any

from msgspec import Struct, field

from tui.diagnosis.classes import CLASSES, Direction
from tui.diagnosis.findings import Finding
from tui.diagnosis.progress import Stage

FlagValue = str | int | float | bool


class Outcome(StrEnum):
    """What became of a launch."""

    FAILED = "failed"
    RUNNING = "running"
    STOPPED = "stopped"
    UNKNOWN = "unknown"


class Confidence(StrEnum):
    """How sure the class is."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class Ending(Struct, frozen=True):
    """What is known of an end, or of a moment, from outside of the log.

    Attributes:
        returncode: as Python counts it; None: it runs, or nobody saw it.
        now: the moment of looking, in the server's local time; it then runs, unless there is a returncode.
        killed_by: who sent a signal, where the keeper found out: `kernel`, `itself`, `somebody`.
        asked: whoever started it ended it.
        card_gib: the size of its smallest GPU, where somebody can tell; no log does.
    """

    returncode: int | None = None
    now: datetime | None = None
    killed_by: str | None = None
    asked: bool = False
    card_gib: float | None = None


class Change(Struct, frozen=True):
    """Something to change before the next launch.

    Attributes:
        effect: what the budget says with it, or why it helps.
        costs: what is given up, where the budget knows.
        environment: variables to set.
    """

    set: Mapping[str, FlagValue] = field(default_factory=dict)
    unset: tuple[str, ...] = ()
    upgrade: str | None = None
    effect: str = ""
    costs: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)


class Diagnosis(Struct, frozen=True):
    """The answer; the fields of `sgltui explain --json`.

    Attributes:
        assumed_release: the release that its lines look like, where nobody said.
        failure: a key of `CLASSES`.
        reason: what happened, in sentences.
        secondary_lines: what is only a consequence, or a symptom of the same.
        advice: what to do beside changing flags.
    """

    release: str | None
    assumed_release: str | None
    launch_first_line: int
    ready_line: int | None
    stage: Stage
    outcome: Outcome
    root_line: int | None
    root_text: str | None
    failure: str
    confidence: Confidence
    direction: Direction | None
    reason: str
    is_memory: bool | None = None
    changes: tuple[Change, ...] = ()
    advice: tuple[str, ...] = ()
    secondary_lines: tuple[int, ...] = ()
    memory: Mapping[str, Any] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    rule: str | None = None
    model: str | None = None
    returncode: int | None = None

    @property
    def meaning(self) -> str:
        """Of the class."""
        return CLASSES[self.failure].meaning
