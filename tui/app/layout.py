"""How a person left the screen, kept for the next time in a small file of its own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from tui.atomic import write_atomic
from tui.errors import SgltuiError

_LARGEST_BYTES = 64 * 1024

Steps = Annotated[int, Meta(ge=-3, le=3)]


class Layout(msgspec.Struct, frozen=True, kw_only=True):
    """What is kept. Names that aren't known are left out: another release may have written them.

    Attributes:
        theme: its name.
        in_front: of the panels that take turns in one place, the one that was chosen last.
        sizes: how much larger than usual a panel is, in steps.
        hidden: the places of panels that aren't shown.
        wrap: long lines of a log go on in the next row.
        hide_access, hide_batch: lines of a log that aren't shown.
    """

    theme: str | None = None
    in_front: Literal["budget", "finding", "live", "log"] = "budget"
    sizes: dict[str, Steps] = {}
    hidden: tuple[str, ...] = ()
    wrap: bool = False
    hide_access: bool = False
    hide_batch: bool = False


class LayoutFile:
    """One file.

    Args:
        path: its folder needn't be there yet.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> Layout:
        """What was kept; where there is nothing, how everything looks at first.

        Raises:
            SgltuiError: something is there that can't be used; it is overwritten by the next change.
        """
        try:
            with self._path.open("rb") as file:
                text = file.read(_LARGEST_BYTES + 1)
            return msgspec.json.decode(text, type=Layout) if len(text) <= _LARGEST_BYTES else _refuse("it is too large")
        except FileNotFoundError:
            return Layout()
        except (OSError, ValueError, RecursionError) as error:  # msgspec's errors are ValueErrors
            raise _unusable(self._path, error) from None

    def write(self, layout: Layout) -> None:
        """Keep this instead.

        Raises:
            SgltuiError: it can't be kept; what was there is still there.
        """
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_atomic(self._path, json.dumps(msgspec.to_builtins(layout), indent=2).encode() + b"\n")
        except OSError as error:
            what = f"how the screen is arranged can't be kept in {self._path}: {error.strerror}"
            raise SgltuiError(what, "it is as now until you leave") from None


def changed(layout: Layout, changes: Mapping[str, object]) -> Layout:
    """The layout with other values of some fields."""
    return msgspec.convert({**msgspec.to_builtins(layout), **changes}, Layout)


def _refuse(why: str) -> Layout:
    raise ValueError(why)


def _unusable(path: Path, error: Exception) -> SgltuiError:
    why = error.strerror if isinstance(error, OSError) else str(error)
    return SgltuiError(f"how the screen was arranged can't be read from {path}: {why}", "it starts as usual")
