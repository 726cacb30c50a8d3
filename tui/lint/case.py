"""What a rule looks at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from tui.budget.types import Card, PlanRequest
from tui.model.shapes import Model
from tui.sglang.parse import Flags
from tui.sglang.target import Target
from tui.sglang.versions import Release


class Case(Struct, frozen=True):
    """A command line, as the release reads it, and what it is for.

    Attributes:
        model: None when it isn't known.
        cards: the GPUs that the server will see, in rank order; None when they aren't known.
        environment: SGLANG_* variables that the server will have.
    """

    flags: Flags
    target: Target
    model: Model | None = None
    cards: tuple[Card, ...] | None = None
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def release(self) -> Release:
        """Whose rules count."""
        return self.target.release

    @property
    def capability(self) -> tuple[int, int] | None:
        """CUDA compute capability of the first card."""
        return self.cards[0].capability if self.cards else None

    @property
    def request(self) -> PlanRequest | None:
        """What it would be planned from; None where the model or the cards aren't known."""
        if self.model is None or not self.cards:
            return None
        totals = [card.total_mib for card in self.cards if card.total_mib is not None]
        return PlanRequest(
            model=self.model,
            flags=self.flags,
            release=self.release,
            cards=self.cards,
            smallest_total_mib=min(totals, default=None),
            environment=self.environment,
            knows_all_flags=self.target.is_exact,
        )

    def get(self, name: str) -> Any:
        """The value that was typed, or None."""
        return self.flags.get(name)

    def effective(self, name: str) -> Any:
        """The value that was typed, else the parser's default."""
        typed = self.flags.get(name)
        if typed is not None:
            return typed
        flags = (inventory.find(f"--{name}") for inventory in self.target.inventories)
        return next((flag.default for flag in flags if flag is not None), None)

    def is_on(self, name: str) -> bool:
        """A switch is given, or a value that isn't a way to say no; of a size, more than one."""
        off = (None, False, "", "none", "null", 0, *((1,) if name.endswith("-size") else ()))
        return self.effective(name) not in off

    def typed(self, name: str) -> str:
        """How the person spelled it, without dashes."""
        given = self.flags.given.get(name)
        if given is None:
            return name
        exact = given.option.lstrip("-")
        return exact if given.option in given.flag.option_strings else given.flag.name
