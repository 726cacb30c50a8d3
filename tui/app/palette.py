"""The commands in the palette: those of what has the keys, then those of the screen."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from msgspec import Struct
from textual.command import DiscoveryHit, Hit, Hits, Provider

from tui.app.here import offers, situation_of


class _Entry(Struct, frozen=True):
    label: str
    help: str
    run: Any


class CommandPalette(Provider):
    """Offers what can be done on the screen behind it, with the keys that do the same."""

    def _entries(self) -> Iterator[_Entry]:
        situation, seen = situation_of(self.screen), set[str]()
        for offer in offers(self.screen):
            for command in offer.commands:
                if command.palette and not command.is_fixed and command.is_shown(situation) and command.id not in seen:
                    seen.add(command.id)
                    keys = situation.keys.words(command)
                    label = f"{command.label} ({keys})" if keys else command.label
                    yield _Entry(label, command.help, partial(self.app.run_action, command.action, offer.node))

    async def discover(self) -> Hits:
        """All of them, before anything is typed."""
        for entry in self._entries():
            yield DiscoveryHit(entry.label, entry.run, help=entry.help)

    async def search(self, query: str) -> Hits:
        """Those whose label or help match."""
        matcher = self.matcher(query)
        for entry in self._entries():
            searched = f"{entry.label}: {entry.help}"
            if (score := matcher.match(searched)) > 0:
                yield Hit(score, matcher.highlight(searched), entry.run, text=entry.label)
