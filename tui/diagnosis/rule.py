"""What a rule of the table is. The tables are in `rules_*.py`; `rules.py` joins them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, IntEnum

from msgspec import Struct

from tui.diagnosis.classes import CLASSES, Direction
from tui.diagnosis.progress import Stage
from tui.sglang.versions import Release


class Role(IntEnum):
    """What a line is worth as the cause; the lower the better."""

    CAUSE = 0
    SYMPTOM = 1  # says what failed, while something else in the log may say why
    CONSEQUENCE = 2  # of another process's end; a cause only where nothing else is said


class Severity(Enum):
    """How loudly a line is shown."""

    OUT_OF_MEMORY = "out of memory"
    ERROR = "error"
    WARNING = "warning"


class Reach(IntEnum):
    """Where a rule's words count."""

    HEAD = 0  # the line that names an exception
    LINE = 1  # also any unstamped line that isn't indented
    STAMPED = 2  # also the beginning of a message with SGLang's stamp


class Circumstances(Struct, frozen=True):
    """What is known of the moment at which a line was logged.

    Attributes:
        stage: of the rank that logged it; runtime once the server was ready.
        loads, pools: weight loads begun and pools completed on that rank.
        frames: the traceback above it, bounded.
        speculates: speculative decoding is asked for; None before the arguments are known.
        hybrid: the model has recurrent state; None when unknown.
    """

    stage: Stage = Stage.ARGS
    loads: int = 0
    pools: int = 0
    frames: str = ""
    speculates: bool | None = None
    hybrid: bool | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of line that tells of a failure.

    Attributes:
        id: names the rule; unique.
        literals: at least one stands in every such line; tested before the pattern.
        pattern: searched in the text; its named groups may stand in `words`.
        sample: such a line, as the tests feed it.
        failure: the class.
        stages: where it counts; empty: everywhere.
        when: a further condition.
        since, before: releases where it counts; empty: all.
        fatal: seen on a line of its own, it ends the process; otherwise only where nothing goes on after it.
        words: what happened, as a sentence.
        direction: for `--mem-fraction-static`, where it isn't the class's usual one.
    """

    id: str
    literals: tuple[str, ...]
    pattern: re.Pattern[str]
    sample: str
    failure: str
    words: str
    role: Role = Role.CAUSE
    severity: Severity = Severity.ERROR
    reach: Reach = Reach.STAMPED
    stages: frozenset[Stage] = frozenset()
    when: Callable[[Circumstances], bool] | None = None
    since: str = ""
    before: str = ""
    fatal: bool = False
    direction: Direction | None = None
    groups: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        """Name the pattern's groups once."""
        object.__setattr__(self, "groups", tuple(self.pattern.groupindex))

    def applies(self, at: Circumstances, release: Release | None) -> bool:
        """Whether it counts at that moment, in that release."""
        if self.stages and at.stage not in self.stages:
            return False
        if release is not None and release.has_number:
            if self.since and not release.includes(self.since):
                return False
            if self.before and release.includes(self.before):
                return False
        return self.when is None or self.when(at)

    def reaches(self, place: Reach) -> bool:
        """Whether it counts in such a place."""
        return place <= self.reach

    def describe(self, found: Mapping[str, str]) -> str:
        """The sentence, with what the line said; the class's meaning where the line left that out."""
        if all(found.get(name) for name in self.groups if f"{{{name}}}" in self.words):
            return self.words.format_map(found)
        return CLASSES[self.failure].meaning


def make_rule(
    rule_id: str,
    failure: str,
    literal: str | tuple[str, ...],
    *,
    sample: str,
    words: str,
    pattern: str | None = None,
    role: Role = Role.CAUSE,
    severity: Severity | None = None,
    reach: Reach = Reach.STAMPED,
    stages: frozenset[Stage] = frozenset(),
    when: Callable[[Circumstances], bool] | None = None,
    since: str = "",
    before: str = "",
    fatal: bool = False,
    direction: Direction | None = None,
) -> Rule:
    """A row of the table; without a pattern any of the literals is enough."""
    literals = (literal,) if isinstance(literal, str) else literal
    source = pattern or "|".join(re.escape(text) for text in literals)
    loud = Severity.OUT_OF_MEMORY if CLASSES[failure].is_memory else Severity.ERROR
    return Rule(
        id=rule_id,
        literals=literals,
        pattern=re.compile(source, re.ASCII),
        sample=sample,
        failure=failure,
        words=words,
        role=role,
        severity=severity or loud,
        reach=reach,
        stages=stages,
        when=when,
        since=since,
        before=before,
        fatal=fatal,
        direction=direction,
    )
