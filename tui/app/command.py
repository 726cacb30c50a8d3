"""What a command is, and the situation that decides whether it makes sense."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from textual.binding import Binding

from tui.observe import Instance

READ_ONLY = "read-only: nothing is changed"

_KEY_NAMES = {"escape": "Esc", "ctrl+p": "Ctrl-P"}  # where a capital letter isn't enough


@dataclass(frozen=True, slots=True)
class Situation:
    """What decides whether a command makes sense now.

    Attributes:
        stopping: names of servers that this screen is stopping.
        broken: the name that is selected, where its record can't be read.
    """

    read_only: bool
    selected: Instance | None
    stopping: frozenset[str] = frozenset()
    broken: str | None = None


class Command:
    """A command; the class is the command, it has no objects. Its docstring is its help.

    Attributes:
        keys: the first is the one that is shown; none: only in the palette.
        label: one or two words, for footer and palette.
        action: Textual action of the dashboard.
        footer: the lower, the longer it stays when the footer gets narrow; None: not there.
        changes: something on the machine; in read-only mode it is hidden, and its keys say why.
    """

    keys: ClassVar[tuple[str, ...]]
    label: ClassVar[str]
    action: ClassVar[str]
    footer: ClassVar[int | None] = None
    palette: ClassVar[bool] = True
    changes: ClassVar[bool] = False

    @classmethod
    def obstacle(cls, situation: Situation) -> str | None:
        """Why it can't be done now, or None."""
        del situation
        return None

    @classmethod
    def why_not(cls, situation: Situation) -> str | None:
        """Why it can't be done, by the mode or by the situation, or None."""
        return READ_ONLY if cls.changes and situation.read_only else cls.obstacle(situation)

    @classmethod
    def is_shown(cls, situation: Situation) -> bool:
        """It exists in this mode."""
        return not (cls.changes and situation.read_only)

    @classmethod
    def help(cls) -> str:
        """One sentence for the help screen and the palette."""
        return (cls.__doc__ or "").strip()

    @classmethod
    def key_words(cls) -> str:
        """Its keys as people write them: `x, F9`."""
        return ", ".join(_KEY_NAMES.get(key, key.capitalize() if len(key) > 1 else key) for key in cls.keys)

    @classmethod
    def bindings(cls) -> list[Binding]:
        """Textual bindings for all its keys."""
        return [Binding(key, cls.action, cls.label, tooltip=cls.help(), show=False) for key in cls.keys]
