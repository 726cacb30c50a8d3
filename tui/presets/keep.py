"""Writing over a preset's file: whole or not at all, and the earlier text stays beside it."""

from __future__ import annotations

import os
from pathlib import Path

from tui.atomic import sync_directory, write_atomic
from tui.errors import RefusedError
from tui.presets.dump import dump_preset
from tui.presets.preset import Preset
from tui.text import printable

_PRIVATE, _PUBLIC = 0o600, 0o644
_MOST_KEPT = 10_000


def replace_preset(preset: Preset, path: Path) -> Path:
    """Write a preset over the file it came from; returns where the earlier text is kept, `NAME.toml.~N~`.

    Raises:
        RefusedError: it can't be written; nothing was changed.
    """
    try:
        kept = _keep(path)
        write_atomic(path, dump_preset(preset).encode(), _PRIVATE if preset.env else _PUBLIC)
    except OSError as error:
        where = printable(str(path))
        raise RefusedError(
            f"{where} can't be written: {error.strerror}", "copy it to a folder of yours first"
        ) from error
    return kept


def _keep(path: Path) -> Path:
    """A second name for the file as it is: the write that follows makes a new one."""
    for number in range(1, _MOST_KEPT):
        kept = path.with_name(f"{path.name}.~{number}~")
        try:
            os.link(path, kept)
        except FileExistsError:
            continue
        sync_directory(path.parent)
        return kept
    raise OSError(28, "too many earlier versions beside it", str(path))
