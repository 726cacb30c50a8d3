"""Showing a log in the user's pager."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from contextlib import closing, suppress
from pathlib import Path

from tui.errors import SgltuiError
from tui.logs.file import LogFile
from tui.logs.search import blocks_from
from tui.logs.text import sanitize


def pager_command(environment: dict[str, str]) -> list[str]:
    """`$PAGER`, or less, or more.

    Raises:
        SgltuiError: there is none.
    """
    words = shlex.split(environment.get("PAGER", "")) or ["less"]
    for candidate in (words, ["more"]):
        if shutil.which(candidate[0]) is not None:
            return candidate
    raise SgltuiError(f"there is no {words[0]} here", "name a pager in PAGER")


def show_in_pager(path: Path, offset: int) -> None:
    """Run the pager on a log and wait for it. `less` opens the file itself, at a byte; any other reads safe text.

    Raises:
        SgltuiError: there is no pager, or no log.
    """
    command = pager_command(dict(os.environ))
    with closing(_opened(path)) as file:
        if Path(command[0]).name == "less" and not file.head:
            # Without its environment's options: -r would let control codes of the log through.
            subprocess.run(
                [*command, "-n", f"+{offset}P", "--", str(path)], env={**os.environ, "LESS": ""}, check=False
            )
            return
        with subprocess.Popen(command, stdin=subprocess.PIPE) as pager, suppress(BrokenPipeError):
            assert pager.stdin is not None  # noqa: S101 - it is a pipe
            for _, data in blocks_from(file, file.start if file.head else offset):
                text = "\n".join(sanitize(line) for line in data.removesuffix(b"\n").split(b"\n"))
                pager.stdin.write(text.encode() + b"\n")


def _opened(path: Path) -> LogFile:
    file = LogFile.open(path)
    if file is None:
        raise SgltuiError(f"there is no {path} yet", "wait for its first line")
    return file
