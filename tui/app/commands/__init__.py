"""What a person can do, each declared once: keys, footer, palette, help and availability come from here."""

from __future__ import annotations

from msgspec import Struct

from tui.app.command import Command
from tui.app.commands.dashboard import DASHBOARD
from tui.app.commands.dialogues import FORM, HELP_PAGE, PAST_ATTEMPTS, QUESTION, SAVING
from tui.app.commands.finding import FINDING
from tui.app.commands.flags import FLAG_EDITOR, FLAG_LIST
from tui.app.commands.log import LOG, PROMPT
from tui.app.commands.moves import MOVES, MOVES_SIDEWAYS


class Place(Struct, frozen=True):
    """Where keys have one meaning each.

    Attributes:
        name: what people call it.
        commands: that share its keys, also those of other places.
    """

    name: str
    commands: tuple[Command, ...]


PLACES = (
    Place("on the dashboard", DASHBOARD),
    Place("in the log", (*LOG, *MOVES, *MOVES_SIDEWAYS)),
    Place("where something is typed into the log", PROMPT),
    Place("in the finding", (*FINDING, *MOVES)),
    Place("in the flag editor", (*FLAG_LIST, *FLAG_EDITOR)),
    Place("in the launch form", FORM),
    Place("where a preset is saved", SAVING),
    Place("in the list of attempts", PAST_ATTEMPTS),
    Place("in a question", QUESTION),
    Place("on the help page", HELP_PAGE),
)


def all_commands() -> tuple[Command, ...]:
    """Each once, in the order of the places."""
    return tuple({command.id: command for place in PLACES for command in place.commands}.values())
