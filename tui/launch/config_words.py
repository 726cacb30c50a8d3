"""What a server's command line asks for, with what stands in its config file: a key or a rank may be nowhere else."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path

from tui.errors import UsageError
from tui.sglang.versions import Release, parse_release
from tui.sglang.words import Words, nearest_inventory, nearest_release

_OPTION = "--config"


def read_words(argv: Sequence[str], sglang_version: str | None, folder: str | Path) -> Words:
    """The words of a command line and of the file that it names, which is read as it is now and kept nowhere.

    Where that can't be used the command line speaks alone: SGLang itself would have ended with it.

    Args:
        argv: the whole of it, interpreter and module in front.
        sglang_version: of the release that reads it.
        folder: in which the server was started.
    """
    if _OPTION not in argv:
        return Words(argv, sglang_version)
    from tui.sglang.config_file import merge_config  # noqa: PLC0415 - YAML takes a while to import

    front = len(list(takewhile(lambda word: not word.startswith("--"), argv)))
    release, inventory = _release(sglang_version), nearest_inventory(sglang_version)
    try:
        return Words(merge_config(argv[front:], release, inventory, Path(folder)).words, sglang_version)
    except UsageError:
        return Words(argv, sglang_version)


def _release(version: str | None) -> Release:
    try:
        return parse_release(version or "")
    except UsageError:  # unknown, or a build that calls itself something else
        return parse_release(nearest_release(version))
