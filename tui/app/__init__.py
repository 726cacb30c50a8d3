"""The terminal UI. The only room that draws; Textual is imported when it is run, not before."""

from __future__ import annotations

import gc
import socket
from typing import TYPE_CHECKING

from tui.app.core import Core, LaunchRequest, StopOutcome

if TYPE_CHECKING:
    from tui.app.layout import LayoutFile
    from tui.app.preferences import Preferences

__all__ = ["Core", "LaunchRequest", "StopOutcome", "run"]


_YOUNG_OBJECTS = 20_000  # of some hundred bytes each; a frame makes and drops 2,000


def spare_collection() -> None:
    """Let the garbage collector stop no key.

    What is imported stays: to go through it again and again would take 0.1 s. As many objects as Python lets come
    into being between two collections come with each key, and one of a few generations takes half as long as the key.
    """
    gc.freeze()
    gc.set_threshold(_YOUNG_OBJECTS)


def run(
    core: Core,
    preferences: Preferences,
    layout_file: LayoutFile,
    *,
    read_only: bool = False,
    ascii_only: bool = False,
    mouse: bool = True,
) -> int:
    """Show the dashboard until the person leaves; servers go on running. Closes the core.

    Args:
        core: what it shows and asks.
        preferences: keys, theme and the like, as a person set them.
        layout_file: where it is kept how a person arranges the screen.
        read_only: nothing on the machine can be changed from here.
        ascii_only: draw with ASCII alone.
        mouse: ask the terminal to report it, which over a network costs bytes with each movement.

    Returns:
        The exit status: 0, or what Textual says when it broke.
    """
    from tui.app.app import SgltuiApp  # noqa: PLC0415 Textual takes 0.2 s to import; only this call needs it

    app = SgltuiApp(
        core,
        where=socket.gethostname(),
        read_only=read_only,
        ascii_only=ascii_only,
        preferences=preferences,
        layout_file=layout_file,
    )
    spare_collection()
    app.run(mouse=mouse)
    return app.return_code or 0
