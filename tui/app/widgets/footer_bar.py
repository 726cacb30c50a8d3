"""The last line: the keys that matter here. When it gets narrow, the less important ones go first."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content
from textual.style import Style

from tui.app.command import Command, Situation
from tui.app.commands import COMMANDS
from tui.app.widgets.text_line import TextLine

_GAP = "  "


class FooterBar(TextLine):
    """Keys and words of the commands; a click does the same as the key."""

    DEFAULT_CSS = """
    FooterBar {
        height: 1;
        text-wrap: nowrap;
        background: $panel;
    }
    """
    ALLOW_SELECT = False

    def __init__(self, situation: Situation) -> None:
        super().__init__()
        self.remove_class("-empty")  # its size is needed before it has something to say
        self.auto_links = False  # keys keep their own colours
        self._situation: Situation | None = situation

    def show_situation(self, situation: Situation | None) -> None:
        """Show what can be done now; what can't is dim. None: these keys do nothing while a dialogue is open."""
        self._situation = situation
        self.show(Content(" ") if situation is None else footer_content(situation, self.size.width))

    def on_resize(self) -> None:
        """More or fewer keys fit."""
        self.show_situation(self._situation)


def footer_content(situation: Situation, width: int) -> Content:
    """As many keys as fit, in the order of the commands."""
    commands = [one for one in COMMANDS if one.footer is not None and one.is_shown(situation)]
    shown = _fitting(commands, width)
    return Content.assemble(" ", Content(_GAP).join(_entry(one, situation) for one in shown))


def _fitting(commands: Sequence[type[Command]], width: int) -> list[type[Command]]:
    room = width - 1
    chosen: set[type[Command]] = set()
    for command in sorted(commands, key=lambda one: one.footer or 0):
        needed = len(_words(command)) + (len(_GAP) if chosen else 0)
        if needed > room:
            break
        room -= needed
        chosen.add(command)
    return [command for command in commands if command in chosen]


def _words(command: type[Command]) -> str:
    return f"{command.keys[0]} {command.label}"


def _entry(command: type[Command], situation: Situation) -> Content:
    dim = command.obstacle(situation) is not None
    key, label = ("$quiet", "$quiet dim") if dim else ("$footer-key-foreground bold", "")
    entry = Content.assemble((command.keys[0], key), (f" {command.label}", label))
    action = command.action if "." in command.action else f"screen.{command.action}"
    return entry.stylize(Style.from_meta({"@click": action}))
