"""What a person set for the screen in `config.toml`, checked before it opens."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from tui.app.keymap import read_keys
from tui.app.keys import DEFAULT_KEYS, Keys
from tui.app.theme import THEME_NAMES
from tui.settings import Settings
from tui.toml_decode import TomlDocument, did_you_mean, read_toml


class Preferences(Struct, frozen=True):
    """What a person set.

    Attributes:
        theme: its name; None: by the terminal.
        notify: ways to call somebody who looks elsewhere: `bell`, `desktop`, `title`.
    """

    keys: Keys = DEFAULT_KEYS
    theme: str | None = None
    notify: frozenset[str] = frozenset()


def read_preferences(settings: Settings, file: Path) -> Preferences:
    """Preferences from settings that were read from a file.

    Raises:
        TomlError: a key, a command or a theme that there isn't; says where and why.
    """
    if not settings.keys and settings.theme is None:
        return Preferences(notify=frozenset(settings.notify))
    document = read_toml(file)
    return Preferences(read_keys(settings.keys, document), _theme(settings.theme, document), frozenset(settings.notify))


def _theme(name: str | None, document: TomlDocument) -> str | None:
    if name is None or name in THEME_NAMES:
        return name
    raise document.error(("theme",), f"there is no theme {name!r}", did_you_mean(name, THEME_NAMES, "themes"))
