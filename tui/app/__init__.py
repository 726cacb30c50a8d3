"""The terminal UI. The only room that draws; Textual is imported when it is run, not before."""

from __future__ import annotations

import socket

from tui.app.core import Core, LaunchRequest, StopOutcome

__all__ = ["Core", "LaunchRequest", "StopOutcome", "run"]


def run(core: Core, *, read_only: bool = False, ascii_only: bool = False, title: str = "") -> int:
    """Show the dashboard until the person leaves; servers go on running. Closes the core.

    Args:
        core: what it shows and asks.
        read_only: nothing on the machine can be changed from here.
        ascii_only: draw with ASCII alone.
        title: what the first line calls this machine; empty: its host name.

    Returns:
        The exit status: 0, or what Textual says when it broke.
    """
    from tui.app.app import SgltuiApp  # noqa: PLC0415 Textual takes 0.2 s to import; only this call needs it

    app = SgltuiApp(core, where=title or socket.gethostname(), read_only=read_only, ascii_only=ascii_only)
    app.run()
    return app.return_code or 0
