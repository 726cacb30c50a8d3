"""What is the matter with a launch, as a front end shows it; how it is made is elsewhere, and isn't needed to start."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import TYPE_CHECKING

from msgspec import Struct, field

from tui.diagnosis.stored import Answer
from tui.keeper.states import ENDED, State

if TYPE_CHECKING:
    from tui.launch.history import Attempt


class Mark(Enum):
    """What a line is to the diagnosis."""

    ROOT = "root"
    CONSEQUENCE = "consequence"
    FINDING = "finding"
    CONTEXT = "context"


class Quote(Struct, frozen=True):
    """A line of the log, safe to show, without secrets."""

    number: int
    offset: int
    text: str
    mark: Mark


class Explanation(Struct, frozen=True):
    """What is the matter with one launch.

    Attributes:
        address: `NAME/LAUNCH`.
        state: in which it was explained.
        quotes: the root line with what stands around it, and what came of it.
        marks: what lines are to the diagnosis, by their offset in the log.
        attempts: all launches of the name up to this one, oldest first; of one that failed.
        done: how much of its log was read, from 0 to 1.
    """

    address: str
    state: State
    answer: Answer
    quotes: tuple[Quote, ...] = ()
    marks: Mapping[int, Mark] = field(default_factory=dict)
    attempts: tuple[Attempt, ...] = ()
    done: float = 1.0

    @property
    def is_settled(self) -> bool:
        """It will not change any more."""
        return self.state in ENDED and self.done >= 1

    @property
    def root_offset(self) -> int | None:
        """Where the root line begins."""
        return next((offset for offset, mark in self.marks.items() if mark is Mark.ROOT), None)
