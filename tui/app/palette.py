"""The commands in the palette."""

from __future__ import annotations

from functools import partial
from typing import Any

from textual.command import DiscoveryHit, Hit, Hits, Provider

from tui.app.command import Situation
from tui.app.commands import COMMANDS


class CommandPalette(Provider):
    """Offers the commands in the palette; the screen behind it must have a `situation`."""

    def _entries(self) -> list[tuple[str, Any, str]]:
        situation: Situation = getattr(self.screen, "situation", Situation(read_only=True, selected=None))
        return [
            (command.label, partial(self.screen.run_action, command.action), command.help())
            for command in COMMANDS
            if command.palette and command.is_shown(situation)
        ]

    async def discover(self) -> Hits:
        """All of them, before anything is typed."""
        for label, run, text in self._entries():
            yield DiscoveryHit(label, run, help=text)

    async def search(self, query: str) -> Hits:
        """Those whose label or help match."""
        matcher = self.matcher(query)
        for label, run, text in self._entries():
            searched = f"{label}: {text}"
            if (score := matcher.match(searched)) > 0:
                yield Hit(score, matcher.highlight(searched), run, text=label)
