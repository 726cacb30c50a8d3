"""Whose flags a command line is held against: the interpreter's own where it can be asked, else recorded ones."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path

from msgspec import Struct

from tui.sglang.flag_cache import read_cached, write_cached
from tui.sglang.flags import FlagInventory
from tui.sglang.interpreter import Interpreter
from tui.sglang.introspect import IntrospectionError, introspect
from tui.sglang.parse import inventories_for
from tui.sglang.versions import Release, describe_doubts, parse_release


class Target(Struct, frozen=True):
    """Flags of one SGLang.

    Attributes:
        release: what it says it is.
        inventories: one, or those of the two recorded neighbours: what either knows is taken.
        own: told by the installation itself.
        note: what isn't certain about them; None when nothing is.
    """

    release: Release
    inventories: tuple[FlagInventory, ...]
    own: bool = False
    note: str | None = None

    @property
    def is_exact(self) -> bool:
        """A flag that isn't in it doesn't exist."""
        return self.own or (len(self.inventories) == 1 and self.note is None)


@lru_cache(maxsize=64)
def recorded_target(release: Release) -> Target:
    """The recorded flags of a release, or those of its nearest ones, which the note says."""
    inventories = inventories_for(release)
    names = " and ".join(inventory.release for inventory in inventories)
    is_recorded = any(parse_release(it.release).number == release.number for it in inventories)
    note = (
        None if is_recorded else f"the flags of SGLang {release.text} aren't recorded here: those of {names} stand in"
    )
    return Target(release, inventories, note=note or next(iter(describe_doubts(release)), None))


def cached_target(interpreter: Interpreter, folder: Path) -> Target:
    """The interpreter's own flags if it has told them before, else recorded ones. Never asks, never waits."""
    release = parse_release(interpreter.sglang_version)
    inventory = None if interpreter.is_simulated else read_cached(folder, interpreter)
    return recorded_target(release) if inventory is None else Target(release, (inventory,), own=True)


def ask_target(
    interpreter: Interpreter,
    folder: Path,
    environment: Mapping[str, str] | None = None,
    about_to_ask: Callable[[], None] = lambda: None,
) -> Target:
    """The interpreter's own flags, asked for at most once an installation; recorded ones where it can't tell.

    A simulated one isn't asked: it has the recorded ones.

    Args:
        interpreter: whose.
        folder: where answers are kept.
        environment: what a launch adds to this process's own variables.
        about_to_ask: called before it takes seconds, up to two minutes.
    """
    known = cached_target(interpreter, folder)
    if known.own or interpreter.is_simulated:
        return known
    about_to_ask()
    try:
        inventory = introspect(interpreter.python, interpreter.sglang_version, environment)
    except IntrospectionError as error:
        known = recorded_target(known.release)
        names = " and ".join(inventory.release for inventory in known.inventories)
        note = f"{interpreter.python} {error}: the recorded flags of SGLang {names} stand in"
        return Target(known.release, known.inventories, note=note)
    if interpreter.stamp:
        with contextlib.suppress(OSError):  # a full disk costs the seconds again, nothing else
            write_cached(folder, interpreter, inventory)
    return Target(known.release, (inventory,), own=True)
