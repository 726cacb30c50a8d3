"""The terminal UI. The only room that draws; Textual is imported when it is run, not before."""

from __future__ import annotations

import gc
import socket
from typing import TYPE_CHECKING

from tui.app.core import Core, LaunchRequest, StopOutcome

if TYPE_CHECKING:
    from tui.app.layout import LayoutFile
    from tui.app.preferences import Preferences

_COLLECTING = (10_000, 20, 50)  # when the collector looks at new, older and old objects

__all__ = ["Core", "LaunchRequest", "StopOutcome", "run"]


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
    # What is imported stays, and so does most of what is on the screen: to go through it again and again would stop
    # the keys for 0.05 s each time.
    gc.freeze()
    gc.set_threshold(*_COLLECTING)
    app.run(mouse=mouse)
    return app.return_code or 0
