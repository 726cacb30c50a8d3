"""Where the files of one launch are, and what is beside them."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

CURRENT = "current"  # in the folder of a name: a link to its newest launch
LAUNCH_LOCK = ".launch.lock"  # in the folder of all names: held while a launch is recorded and handed over


class LaunchFiles:
    """Where the files of one launch are, inside its own directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.launch = directory / "launch.json"  # what was asked; written once, before the keeper starts
        self.state = directory / "state.json"  # where it is; replaced by the keeper at each change
        self.exit = directory / "exit.json"  # how it ended; its presence means that all is over
        self.events = directory / "events.jsonl"  # every change, one JSON object a line
        self.log = directory / "server.log"  # the server's own stdout and stderr
        self.requests = directory / "requests"  # what others ask; files moved in by rename
        self.diagnosis = directory / "diagnosis.json"  # how it fared, in words and figures, when ready and at its end
        self.smoke = directory / "smoke.json"  # the newest smoke request
        self.lock = directory / "keeper.lock"  # held by whoever acts for this launch
        self.keeper_log = directory / "keeper.log"  # the keeper's own trouble, normally empty

    def discard(self) -> None:
        """Remove the directory of a launch that couldn't be recorded, unless it is the current one already."""
        with suppress(OSError):  # the disk's trouble is what is told
            current = self.directory.parent / CURRENT
            if current.is_symlink() and current.resolve() == self.directory.resolve():
                return
            for path in self.directory.iterdir():
                path.rmdir() if path.is_dir() else path.unlink()
            self.directory.rmdir()
