"""What a command is, and the situation that decides whether it makes sense."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec import Struct
from textual.binding import Binding

from tui.app.keys import DEFAULT_KEYS, NO_KEY, Keys
from tui.observe import Instance

READ_ONLY = "read-only: nothing is changed"


class Situation(Struct, frozen=True):
    """What decides whether a command makes sense now.

    Attributes:
        stopping: names of servers that this screen is stopping.
        broken: the name that is selected, where its record can't be read.
        keys: in force, for words that name one.
    """

    read_only: bool
    selected: Instance | None
    stopping: frozenset[str] = frozenset()
    broken: str | None = None
    keys: Keys = DEFAULT_KEYS


def _nothing(_: Situation) -> str | None:
    return None


class Command(Struct, frozen=True):
    """A command; key, footer, palette entry, help and availability come from here.

    Attributes:
        id: what settings call it: `stop`, or with the place where alone it works, `log.search`.
        keys: the first is the one that is shown; none: only in the palette. By name, or the character itself.
        label: one or two words, for footer and palette.
        help: one sentence.
        action: Textual action of the screen or panel that lists the command.
        footer: the lower, the longer it stays when the footer gets narrow; None: not there.
        palette: it makes sense there.
        changes: something on the machine; in read-only mode it is hidden, and its keys say why.
        is_fixed: the keys are a widget's own, and can't be others.
        obstacle: why it can't be done now, or None.
    """

    id: str
    keys: tuple[str, ...]
    label: str
    help: str
    action: str
    footer: int | None = None
    palette: bool = True
    changes: bool = False
    is_fixed: bool = False
    obstacle: Callable[[Situation], str | None] = _nothing

    def why_not(self, situation: Situation) -> str | None:
        """Why it can't be done, by the mode or by the situation, or None."""
        return READ_ONLY if self.changes and situation.read_only else self.obstacle(situation)

    def is_shown(self, situation: Situation) -> bool:
        """It exists in this mode."""
        return not (self.changes and situation.read_only)


def bindings(commands: Iterable[Command]) -> list[Binding]:
    """Textual bindings of all their keys; where the settings say otherwise, Textual finds them by their ids."""
    return [
        Binding(key, command.action, command.label, tooltip=command.help, id=command.id, show=False)
        for command in commands
        if not command.is_fixed
        for key in command.keys or (NO_KEY,)
    ]
