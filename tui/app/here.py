"""What can be done here and now: the commands of whatever has the keys, then those of the screen around it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct
from textual.dom import DOMNode
from textual.screen import Screen
from textual.widgets import Input

from tui.app.command import Command, Situation
from tui.app.keys import keys_of, name_of, typed


class Offer(Struct, frozen=True):
    """One widget or screen, and the commands that it lists in its `COMMAND_LIST`.

    Some of them may do nothing as things stand there: its `is_idle` tells, where it has one.
    """

    node: DOMNode
    commands: tuple[Command, ...]

    def is_idle(self, command: Command) -> bool:
        """The command would do nothing now."""
        told = getattr(self.node, "is_idle", None)
        return told is not None and bool(told(command))


class Usable(Struct, frozen=True):
    """A command, and those of its keys that reach it from here."""

    command: Command
    keys: tuple[str, ...]


def offers(screen: Screen[Any]) -> list[Offer]:
    """From the focused widget outwards."""
    inside = screen.focused.ancestors_with_self if screen.focused is not None else [screen]
    found = [Offer(node, getattr(node, "COMMAND_LIST", ())) for node in inside]
    return [offer for offer in found if offer.commands]


def situation_of(screen: Screen[Any]) -> Situation:
    """The screen's own; screens on which no server is selected only know the mode."""
    own = getattr(screen, "situation", None)
    if isinstance(own, Situation):
        return own
    return Situation(read_only=bool(getattr(screen.app, "is_read_only", False)), selected=None, keys=keys_of(screen))


def usable(screen: Screen[Any]) -> list[list[Usable]]:
    """Of each place, what a key does now: what is nearer takes a key first, and what is typed is no command."""
    situation, taken = situation_of(screen), set[str]()
    return [found for offer in offers(screen) if (found := list(_reached(screen, offer, situation, taken)))]


def _reached(screen: Screen[Any], offer: Offer, situation: Situation, taken: set[str]) -> Iterator[Usable]:
    mine = set[str]()
    for command in offer.commands:
        names = {key: name_of(key) or key for key in situation.keys.of(command)}
        keys = tuple(key for key, name in names.items() if name not in taken and not _is_typed(screen, name, command))
        mine |= set(names.values())
        if keys and command.why_not(situation) is None and not offer.is_idle(command):
            yield Usable(command, keys)
    taken |= mine


def find(screen: Screen[Any], command_id: str) -> tuple[DOMNode, Command] | None:
    """Who does a command from here."""
    for offer in offers(screen):
        for command in offer.commands:
            if command.id == command_id:
                return offer.node, command
    return None


def _is_typed(screen: Screen[Any], key: str, command: Command) -> bool:
    """It goes into the field that has the keys, or edits there."""
    focused = screen.focused
    if focused is None:
        return False
    edits = isinstance(focused, Input) and not command.is_fixed and key in focused._bindings.key_to_bindings  # noqa: SLF001 - there is no other way to ask
    return edits or focused.check_consume_key(key, typed(key))
