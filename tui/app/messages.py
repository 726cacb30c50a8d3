"""What travels up to the app: news from the sampler, and what a person asks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from textual.message import Message

from tui.app.advice import AdviceQuestion
from tui.app.budgets import BudgetQuestion
from tui.app.core import Adjusted, Editable, LaunchRequest
from tui.app.findings import ExplanationQuestion
from tui.app.notices import Trouble
from tui.gpu import GpuReading
from tui.observe import Instance, Snapshot

if TYPE_CHECKING:
    from tui.diagnosis.diagnosis import Change
    from tui.launch.gpu_choices import JudgedChoice
    from tui.launch.history import Attempt
    from tui.launch.preset_saving import PresetDraft  # which takes the importer and the diagnosis with it


@dataclass
class SnapshotTaken(Message):
    """The machine looks different from the last time; only the newest of several waiting ones matters."""

    snapshot: Snapshot

    def can_replace(self, message: Message) -> bool:
        """Stand in for an older snapshot that nobody has looked at yet."""
        return isinstance(message, SnapshotTaken)


@dataclass
class SnapshotFailed(Message):
    """The machine couldn't be looked at; what is on the screen is from before."""

    trouble: Trouble

    def can_replace(self, message: Message) -> bool:
        """Stand in for an older failure that nobody has looked at yet."""
        return isinstance(message, SnapshotFailed)


class LaunchDialogue(Protocol):
    """Where a launch was asked for, and where it is told what comes of it; it may have been left meanwhile."""

    def say_launching(self, request: LaunchRequest) -> None:
        """It has begun."""
        ...

    def refuse(self, trouble: Trouble) -> None:
        """It wasn't launched."""
        ...

    def close(self) -> None:
        """It is launched."""
        ...


@dataclass
class PresetsChanged(Message):
    """A preset was edited, added or removed while the UI is open."""


@dataclass
class LaunchWanted(Message):
    """A person wants to launch this."""

    request: LaunchRequest
    dialogue: LaunchDialogue


class RelaunchDialogue(Protocol):
    """Where a relaunch was asked for, and where it is told what comes of it; it may have been left meanwhile."""

    def say_launching(self, about: Adjusted) -> None:
        """It has begun."""
        ...

    def refuse(self, trouble: Trouble) -> None:
        """It wasn't launched."""
        ...

    def close(self) -> None:
        """It is launched."""
        ...


@dataclass
class AdjustAsked(Message):
    """A person wants to change flags before a launch; `offers` are what its log or its live figures suggest."""

    about: Editable
    offers: tuple[Change, ...] = ()


@dataclass
class RelaunchWanted(Message):
    """A person wants this in the place of what it comes from; nothing was confirmed yet."""

    about: Adjusted
    dialogue: RelaunchDialogue | None = None


@dataclass
class TestWanted(Message):
    """A person wants to see it answer."""

    instance: Instance


@dataclass
class BackAsked(Message):
    """A person wants what worked before."""

    instance: Instance


@dataclass
class StopAsked(Message):
    """A person wants to stop a server, or kill it; nothing was confirmed yet."""

    instance: Instance
    kill: bool


@dataclass
class NoticesRead(Message):
    """A person has read the notices and wants the room back."""


@dataclass
class Remember(Message):
    """A person arranged the screen: fields of `Layout` and their values, kept for the next time."""

    changes: Mapping[str, object]


@dataclass
class Explained(Message):
    """A command can't be done now: why."""

    why: str


@dataclass
class BudgetAsked(Message):
    """Somebody looks at what a launch takes; only the newest of several waiting ones matters."""

    question: BudgetQuestion


class ChoiceDialogue(Protocol):
    """Where GPUs are chosen; it may have been left meanwhile."""

    def show_choices(self, choices: tuple[JudgedChoice, ...], absent: str = "") -> None:
        """What the plan says of each; or why that can't be told."""
        ...


@dataclass
class GpuChoicesAsked(Message):
    """Somebody wonders on which GPUs a launch would fit."""

    about: Editable
    gpus: GpuReading
    dialogue: ChoiceDialogue


@dataclass
class ExplanationAsked(Message):
    """Somebody looks at a server: what is the matter with it?"""

    question: ExplanationQuestion


@dataclass
class AdviceAsked(Message):
    """Somebody looks at a server that runs: what limits it?"""

    question: AdviceQuestion


@dataclass
class EngineAsked(Message):
    """Nothing was launched yet: what would run a server?"""


@dataclass
class ReportWanted(Message):
    """A person wants a report of what is the matter, to show it to others."""

    question: ExplanationQuestion


@dataclass
class SaveAsked(Message):
    """A person wants to keep a launch as a preset."""

    instance: Instance


class SaveDialogue(Protocol):
    """Where a preset is saved; it may have been left meanwhile."""

    def show_draft(self, draft: PresetDraft) -> None:
        """What would be written."""
        ...

    def refuse(self, trouble: Trouble) -> None:
        """It can't be."""
        ...

    def close(self) -> None:
        """It is saved."""
        ...


@dataclass
class PresetDraftWanted(Message):
    """A person wants to see what saving would write; nothing is written."""

    address: str
    name: str
    dialogue: SaveDialogue


@dataclass
class PresetSaveWanted(Message):
    """A person has seen it, and wants it written."""

    draft: PresetDraft
    dialogue: SaveDialogue


class HistoryDialogue(Protocol):
    """Where the attempts at a server are shown; it may have been left meanwhile."""

    about: str

    def fill(self, attempts: Sequence[Attempt]) -> None:
        """They are read; oldest first."""
        ...

    def refuse(self, trouble: Trouble) -> None:
        """They can't be read."""
        ...


@dataclass
class HistoryWanted(Message):
    """A person wants to see the attempts at a server."""

    dialogue: HistoryDialogue
