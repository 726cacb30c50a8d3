"""Whose launch it is: what another machine or another user has started is shown, and left alone."""

from __future__ import annotations

import os

from tui.errors import RefusedError
from tui.launch.records import Recorded


def check_ours(recorded: Recorded, verb: str) -> None:
    """The launch was started on this machine, by this user.

    Args:
        recorded: the launch.
        verb: the command that is refused.

    Raises:
        RefusedError: it wasn't.
    """
    if not recorded.is_local:
        raise RefusedError(
            f"{recorded.address} runs on {recorded.launch.machine.hostname}, not here",
            f"run `sgltui {verb} {recorded.launch.name}` there",
        )
    owner = recorded.files.directory.stat().st_uid
    if owner != os.geteuid():
        raise RefusedError(f"{recorded.address} belongs to the user with uid {owner}", f"{verb} it as that user")
