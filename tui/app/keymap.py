"""The table `[keys]` of the settings: other keys for commands, refused where they can't work."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from tui.app.command import Command
from tui.app.commands import PLACES, Place, all_commands
from tui.app.keys import Keys, name_of, written
from tui.toml_decode import TomlDocument, TomlError

_ALWAYS = {"ctrl+q": "leaves, whatever has the keys", "ctrl+c": "says how to leave"}
_KEY_HINT = 'a key is a character like "x" or "?", or a name: f2, enter, escape, tab, pageup, ctrl+x, alt+x'


def read_keys(table: Mapping[str, Any], document: TomlDocument) -> Keys:
    """Keys by this table of the settings: `stop = "x"`, `log.search = ["/", "f3"]`, none: `kill = []`.

    Raises:
        TomlError: a command or a key that there isn't, or two commands that share a key in one place.
    """
    commands = {command.id: command for command in all_commands()}
    wishes: dict[str, tuple[str, ...]] = {}
    for command_id, wish in _flat(table):
        command = commands.get(command_id)
        if command is None or command.is_fixed:
            raise _no_such(command_id, command, commands, document)
        wishes[command_id] = tuple(
            dict.fromkeys(_key(key, command_id, document) for key in _listed(wish, command_id, document))
        )
    keys = Keys(wishes)
    for place in PLACES:
        _check(place, keys, wishes, document)
    return keys


def _flat(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """`log.search = …` is a table in a table to TOML."""
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def _listed(wish: Any, command_id: str, document: TomlDocument) -> list[str]:
    keys = wish if isinstance(wish, list) else [wish]
    if all(isinstance(key, str) for key in keys):
        return keys
    raise _error(command_id, document, f"the keys of {command_id} must be a text or a list of texts", _KEY_HINT)


def _key(key: str, command_id: str, document: TomlDocument) -> str:
    name = name_of(key)
    if name is None:
        raise _error(command_id, document, f"there is no key {key[:40]!r}, which {command_id} should have", _KEY_HINT)
    if name in _ALWAYS:
        raise _error(
            command_id, document, f"{command_id} can't have {written(name)}: it {_ALWAYS[name]}", "take another key"
        )
    return name


def _check(place: Place, keys: Keys, wishes: Mapping[str, object], document: TomlDocument) -> None:
    taken: dict[str, Command] = {}
    for command in {one.id: one for one in place.commands}.values():
        for key in keys.of(command):
            other = taken.setdefault(name_of(key) or key, command)
            if other is not command:
                mine, theirs = (command, other) if command.id in wishes else (other, command)
                what = f"{mine.id} and {theirs.id} share the key {written(key)} {place.name}"
                raise _error(mine.id, document, what, _way_out(mine, theirs))


def _way_out(mine: Command, theirs: Command) -> str:
    if theirs.is_fixed:
        return f"give {mine.id} another one: that of {theirs.id} can't be changed"
    return f"give one of them another; `sgltui keys` lists all, and {theirs.id} = [] leaves that one to the palette"


def _no_such(
    command_id: str, command: Command | None, commands: Mapping[str, Command], document: TomlDocument
) -> TomlError:
    if command is not None:
        return _error(command_id, document, f"the key of {command_id} can't be changed", "take it out of [keys]")
    near = get_close_matches(command_id, [one.id for one in commands.values() if not one.is_fixed], n=2)
    guess = f"did you mean {' or '.join(near)}? " if near else ""
    return _error(command_id, document, f"there is no command {command_id!r}", f"{guess}`sgltui keys` lists all")


def _error(command_id: str, document: TomlDocument, what: str, hint: str) -> TomlError:
    quoted = command_id in document.values.get("keys", {})
    path = (command_id,) if quoted else tuple(command_id.split("."))
    return document.error(("keys", *path), what, hint)
