"""The commands and their keys as a list, for those who want to write other keys into the settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec import Struct
from textual.keys import format_key

from tui.app.command import Command
from tui.app.commands import all_commands
from tui.app.keys import Keys
from tui.app.preferences import read_preferences
from tui.settings import Settings


class KeyRow(Struct, frozen=True):
    """One command.

    Attributes:
        table, name: where it stands in the settings: `[keys.log]`, `search`.
        keys: by name, or the character itself.
        changes: something on the machine.
    """

    table: str
    name: str
    keys: tuple[str, ...]
    help: str
    changes: bool

    def as_json(self) -> dict[str, Any]:
        """For scripts."""
        prefix = self.table.removeprefix("keys").removeprefix(".")
        command = f"{prefix}.{self.name}" if prefix else self.name
        return {"id": command, "keys": list(self.keys), "help": self.help, "changes": self.changes}


def key_rows(settings: Settings, file: Path) -> list[KeyRow]:
    """All whose keys can be changed, in the order of the screens.

    Raises:
        TomlError: the settings name a key, a command or a theme that there isn't.
    """
    keys = read_preferences(settings, file).keys
    return [_row(command, keys) for command in all_commands() if not command.is_fixed]


def _row(command: Command, keys: Keys) -> KeyRow:
    place, _, name = command.id.rpartition(".")
    shown = tuple(_shown(key) for key in keys.of(command))
    return KeyRow(f"keys.{place}" if place else "keys", name, shown, command.help, command.changes)


def _shown(key: str) -> str:
    """`?` rather than `question_mark`; arrows by their names."""
    character = format_key(key)
    return character if len(character) == 1 and character.isascii() else key
