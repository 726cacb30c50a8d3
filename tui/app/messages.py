"""What travels up to the app: news from the sampler, and what a person asks for."""

from __future__ import annotations

from dataclasses import dataclass

from textual.message import Message

from tui.app.notices import Trouble
from tui.observe import Instance, Snapshot


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


@dataclass
class LaunchAsked(Message):
    """A person wants to launch a server from a preset."""


@dataclass
class StopAsked(Message):
    """A person wants to stop a server, or kill it; nothing was confirmed yet."""

    instance: Instance
    kill: bool


@dataclass
class NoticesRead(Message):
    """A person has read the notices and wants the room back."""


@dataclass
class Explained(Message):
    """A command can't be done now: why."""

    why: str
