"""The terminal UI. The only room that draws; Textual is imported when it is run, not before."""

from __future__ import annotations

import gc
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from tui.app.layout import LayoutFile

if TYPE_CHECKING:
    from tui.app.core import Core
    from tui.app.opening import Opening
    from tui.app.preferences import Preferences
    from tui.observe import Snapshot
    from tui.settings import Settings

_COLLECTING = (20_000, 20, 50)  # when the collector looks at new, older and old objects


def spare_collection() -> None:
    """Let the garbage collector stop no key.

    What is imported stays, and so does most of what is on the screen: to go through it again and again would stop the
    keys for 0.05 s each time. Of the objects that a frame makes and drops, 2,000, as many come with each key as Python
    lets come into being between two collections.
    """
    gc.freeze()
    gc.set_threshold(*_COLLECTING)


def run(
    core: Core,
    settings: Settings,
    settings_file: Path,
    layout_file: LayoutFile,
    *,
    first_look: Callable[[], Snapshot | None] = lambda: None,
    read_only: bool = False,
    ascii_only: bool = False,
    mouse: bool = True,
) -> int:
    """Show the dashboard until the person leaves; servers go on running. Closes the core.

    Args:
        core: what it shows and asks.
        settings: as the person made them in `settings_file`.
        settings_file: whose places errors name.
        layout_file: where it is kept how a person arranges the screen.
        first_look: what is seen of the machine, soon or not at all: it is painted before the UI is there.
        read_only: nothing on the machine can be changed from here.
        ascii_only: draw with ASCII alone.
        mouse: ask the terminal to report it, which over a network costs bytes with each movement.

    Returns:
        The exit status: 0, or what Textual says when it broke.

    Raises:
        TomlError: a setting of the screen that can't be meant.
    """
    spare_collection()  # of what is imported nothing is garbage, and to look for it takes 0.1 s
    from tui.app.opening import opening  # noqa: PLC0415 - a part of Textual, 0.1 s; only this call needs it

    with opening(sys.stdin, sys.__stderr__ or sys.stderr) as opened:
        if (seen := first_look()) is not None:
            opened.show_first(seen, settings, layout_file, read_only=read_only, ascii_only=ascii_only)
        from tui.app.preferences import read_preferences  # noqa: PLC0415 - after something is seen, as what follows

        preferences = read_preferences(settings, settings_file)
        return _run(core, preferences, layout_file, opened, read_only=read_only, ascii_only=ascii_only, mouse=mouse)


def _run(
    core: Core,
    preferences: Preferences,
    layout_file: LayoutFile,
    opened: Opening,
    *,
    read_only: bool,
    ascii_only: bool,
    mouse: bool,
) -> int:
    from tui.app.app import SgltuiApp  # noqa: PLC0415 - the rest of Textual, 0.2 s

    app = SgltuiApp(
        core,
        where=socket.gethostname(),
        read_only=read_only,
        ascii_only=ascii_only,
        preferences=preferences,
        layout_file=layout_file,
        opening=opened,
    )
    spare_collection()
    app.run(mouse=mouse)
    return app.return_code or 0
