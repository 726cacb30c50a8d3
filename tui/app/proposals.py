"""What the launch form starts with: a preset's own wishes, unless a running server is in the way."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import count

from tui.keeper.states import ALIVE
from tui.observe import Instance
from tui.presets import Preset


@dataclass(frozen=True, slots=True)
class Proposal:
    """The fields of the form as text; empty: the core chooses."""

    name: str
    port: str
    gpus: str


def propose(preset: Preset, instances: Iterable[Instance]) -> Proposal:
    """Name and port that no living server of this machine has, as near to the preset's as can be."""
    alive = [one for one in instances if one.local and one.state in ALIVE]
    wishes = preset.launch
    return Proposal(
        name=_free_name(wishes.name or preset.name, {one.name for one in alive}),
        port="" if wishes.port is None else str(_free_port(wishes.port, {one.port for one in alive})),
        gpus=",".join(map(str, wishes.gpus or ())),
    )


def _free_name(wish: str, taken: set[str]) -> str:
    if wish not in taken:
        return wish
    return next(name for number in count(2) if (name := f"{wish}-{number}") not in taken)


def _free_port(wish: int, taken: set[int | None]) -> int:
    return next((port for port in range(wish, 1 << 16) if port not in taken), wish)
