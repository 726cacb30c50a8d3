"""The last line: the keys that matter here. When it gets narrow, the less important ones go first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from textual.content import Content
from textual.style import Style

from tui.app.command import Command, Situation
from tui.app.here import Offer
from tui.app.keys_line import KEY_STYLE
from tui.app.widgets.text_line import TextLine

_GAP = "  "


class Key(NamedTuple):
    """A key and what it does; dim where it can't now."""

    key: str
    label: str
    command: str
    is_dim: bool


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

    def __init__(self) -> None:
        super().__init__()
        self.remove_class("-empty")  # its size is needed before it has something to say
        self.auto_links = False  # keys keep their own colours
        self._situation: Situation | None = None
        self._here: Sequence[Offer] = ()
        self._keys: tuple[Key, ...] | None = None

    def show_keys(self, situation: Situation | None, here: Sequence[Offer]) -> None:
        """Show what can be done now; what can't is dim. None: these keys do nothing while a dialogue is open."""
        self._situation = situation
        self._here = here
        self._draw()

    def on_resize(self) -> None:
        """More or fewer keys fit."""
        self._draw()

    def _draw(self) -> None:
        keys = () if self._situation is None else footer_keys(self._here, self._situation, self.size.width)
        if keys != self._keys:
            self._keys = keys
            self.show(Content.assemble(" ", Content(_GAP).join(map(_entry, keys))))


def footer_keys(here: Sequence[Offer], situation: Situation, width: int) -> tuple[Key, ...]:
    """As many as fit, in the order of the commands: those of the focused panel first."""
    possible = [
        (one, offer.is_idle(one) or one.obstacle(situation) is not None)
        for offer in here
        for one in offer.commands
        if one.footer is not None and one.is_shown(situation) and situation.keys.first(one)
    ]
    shown = _fitting([one for one, _ in possible], situation, width)
    return tuple(Key(situation.keys.first(one), one.label, one.id, is_dim) for one, is_dim in possible if one in shown)


def _fitting(commands: Sequence[Command], situation: Situation, width: int) -> list[Command]:
    room = width - 1
    chosen: list[Command] = []
    for command in sorted(commands, key=lambda one: one.footer or 0):
        needed = len(f"{situation.keys.first(command)} {command.label}") + (len(_GAP) if chosen else 0)
        if needed > room:
            break
        room -= needed
        chosen.append(command)
    return [command for command in commands if command in chosen]


def _entry(one: Key) -> Content:
    key, label = ("$quiet", "$quiet dim") if one.is_dim else (KEY_STYLE, "")
    entry = Content.assemble((one.key, key), (f" {one.label}", label))
    return entry.stylize(Style.from_meta({"@click": f"screen.do({one.command!r})"}))
