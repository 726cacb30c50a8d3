"""Keys: what each is called, how it is written on the screen, and which ones have a command's attention."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Protocol

from textual.binding import Binding
from textual.dom import DOMNode
from textual.keys import format_key

_MODIFIERS = ("ctrl", "alt", "shift")
# Keys without a character, and how people write them.
_WRITTEN = {
    "enter": "Enter",
    "escape": "Esc",
    "tab": "Tab",
    "space": "Space",
    "backspace": "Backspace",
    "delete": "Delete",
    "insert": "Insert",
    "home": "Home",
    "end": "End",
    "pageup": "PageUp",
    "pagedown": "PageDown",
    "up": "Up",
    "down": "Down",
    "left": "Left",
    "right": "Right",
    **{f"f{number}": f"F{number}" for number in range(1, 25)},
}
NO_KEY = "no-key"
"""No terminal sends it. An empty entry in a keymap would leave a binding as it was; one without a key isn't found."""


class Keyed(Protocol):
    """A command, as far as its keys go."""

    @property
    def id(self) -> str:
        """What settings call it."""
        ...

    @property
    def keys(self) -> tuple[str, ...]:
        """As declared."""
        ...


@lru_cache(maxsize=256)  # asked for all keys of a screen, whenever that tells which do something
def name_of(key: str) -> str | None:
    """A key as Textual names it, from its name or its character: `?` is `question_mark`. None: there is no such key."""
    *modifiers, base = [key] if len(key) == 1 else key.split("+")
    character = "" if base in _WRITTEN else format_key(base)
    if any(modifier not in _MODIFIERS for modifier in modifiers):
        return None
    if base not in _WRITTEN and (len(character) != 1 or not character.isprintable() or character == " "):
        return None
    if modifiers == ["shift"] and character:  # terminals send the character, not the key that was held
        return _character_name(character.upper())
    return "+".join([*modifiers, _character_name(character) if character else base])


def typed(key: str) -> str | None:
    """The character that a key types, by its name; Textual's own function doesn't know the slash, plus and minus."""
    if key == "space":
        return " "
    character = "" if key in _WRITTEN or "+" in key else format_key(key)
    return character if len(character) == 1 else None


def written(key: str) -> str:
    """A key as people write it: `F9`, `Esc`, `Ctrl-P`, `?`."""
    *modifiers, base = [key] if len(key) == 1 else key.split("+")
    word = _WRITTEN.get(base) or format_key(base)
    return "-".join([*map(str.capitalize, modifiers), word.upper() if modifiers and len(word) == 1 else word])


class Keys:
    """The keys in force: those of the declarations, except where a person wants others.

    Args:
        wishes: keys by the id of the command, named as `name_of` does; none at all leaves it to the palette.
    """

    def __init__(self, wishes: Mapping[str, tuple[str, ...]] | None = None) -> None:
        self._wishes = dict(wishes or {})

    def of(self, command: Keyed) -> tuple[str, ...]:
        """Its keys."""
        return self._wishes.get(command.id, command.keys)

    def first(self, command: Keyed) -> str:
        """The one that is shown, as people write it; empty where it has none."""
        return next((written(key) for key in self.of(command)), "")

    def words(self, command: Keyed) -> str:
        """All of them: `x, F9`."""
        return ", ".join(map(written, self.of(command)))

    def keymap(self) -> dict[str, str]:
        """For `App.set_keymap`."""
        return {command: ",".join(keys) or NO_KEY for command, keys in self._wishes.items()}


DEFAULT_KEYS = Keys()


def keys_of(node: DOMNode) -> Keys:
    """Those in force in the app that a node belongs to; another app than ours has the declared ones."""
    keys = getattr(node.app, "keys", None)
    return keys if isinstance(keys, Keys) else DEFAULT_KEYS


def _character_name(character: str) -> str:
    """By the one public way that Textual has from a character to its name."""
    if character == ",":  # separates keys there
        return "comma"
    return next(iter(Binding.make_bindings([Binding(character, "")]))).key
