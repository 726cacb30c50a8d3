"""Has a launch explained by a process of its own: it takes more than a keeper imports, and mustn't cost it anything."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tui.keeper.files import LaunchFiles

_PACKAGE = Path(__file__).parents[1]
_EXPLAINER = _PACKAGE / "launch" / "explain.py"


def explain_apart(files: LaunchFiles) -> None:
    """Start it and go on; it writes `diagnosis.json`, and its own trouble to the keeper's log.

    Where only the keeper is installed (a far host) there is nobody to explain anything.
    """
    if not _EXPLAINER.exists():
        return
    words = [sys.executable, "-P", "-m", "tui.launch.explain", str(files.directory)]
    log = str(files.keeper_log)
    streams = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
        (os.POSIX_SPAWN_OPEN, 2, log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600),
    ]
    environment = {**os.environ, "PYTHONPATH": str(_PACKAGE.parent)}
    try:
        # Of our session, by which it is told from the server's orphans; of its own group, which ctrl-c doesn't reach.
        os.posix_spawn(sys.executable, words, environment, file_actions=streams, setpgroup=0)
    except OSError as error:  # no memory, no process, a full disk: the launch itself is on record all the same
        sys.stderr.write(f"{files.directory} isn't explained: {error}\n")
