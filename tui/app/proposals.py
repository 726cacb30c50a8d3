"""The launch form's fields: what they start with, and what they are read as."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count
from typing import TYPE_CHECKING

from msgspec import Struct

from tui.app.core import LaunchRequest
from tui.errors import UsageError
from tui.keeper.states import ALIVE
from tui.launch.spec import LaunchSpec, parse_gpus
from tui.observe import Instance

if TYPE_CHECKING:
    from tui.presets import Preset

_PORT_LIMIT = 65535


class Fields(Struct, frozen=True):
    """The fields of the form as text; empty: the core chooses."""

    name: str
    port: str
    gpus: str


class FieldError(UsageError):
    """What stands in a field can't be used.

    Attributes:
        field: its name in `Fields`.
    """

    def __init__(self, field: str, what: str, hint: str) -> None:
        super().__init__(what, hint)
        self.field = field


def propose(preset: Preset, instances: Iterable[Instance]) -> Fields:
    """Name and port that no living server of this machine has, as near to the preset's as can be."""
    alive = [one for one in instances if one.local and one.state in ALIVE]
    wishes = preset.launch
    return Fields(
        name=_free_name(wishes.name or preset.name, {one.name for one in alive}),
        port="" if wishes.port is None else str(_free_port(wishes.port, {one.port for one in alive})),
        gpus=",".join(map(str, wishes.gpus or ())),
    )


def read_request(preset: Preset, fields: Fields) -> LaunchRequest:
    """What is asked for with these fields; blanks around a value don't count.

    Raises:
        FieldError: one of them can't be meant; says what is allowed.
    """
    name, port, gpus = fields.name.strip(), fields.port.strip(), fields.gpus.strip()
    try:
        if name:
            LaunchSpec(name, preset.model)
    except UsageError as error:
        raise FieldError("name", error.what, error.hint) from error
    try:
        if gpus:
            parse_gpus(gpus)
    except UsageError as error:
        raise FieldError("gpus", error.what, error.hint) from error
    return LaunchRequest(preset.name, name or None, gpus or None, _read_port(port) if port else None)


def _read_port(text: str) -> int:
    if not (text.isdecimal() and 0 < int(text) <= _PORT_LIMIT):
        raise FieldError("port", f"{text!r} isn't a port", f"give a number from 1 to {_PORT_LIMIT}")
    return int(text)


def _free_name(wish: str, taken: set[str]) -> str:
    if wish not in taken:
        return wish
    return next(name for number in count(2) if (name := f"{wish}-{number}") not in taken)


def _free_port(wish: int, taken: set[int | None]) -> int:
    return next((port for port in range(wish, _PORT_LIMIT + 1) if port not in taken), wish)
