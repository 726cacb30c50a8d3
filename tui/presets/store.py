"""Presets on disk: written whole or not at all, and never over what somebody wrote without keeping that.

An earlier version stays beside its file as `NAME.toml.~1~`, `~2~` and so on, as `cp --backup=numbered` names them.
"""

from __future__ import annotations

import difflib
import os
import re
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from tui.atomic import sync_directory, write_atomic
from tui.errors import RefusedError, UsageError
from tui.paths import Places, find_shipped_presets
from tui.presets.dump import dump_preset
from tui.presets.preset import NAME_RULE, Preset, is_name
from tui.text import printable

_PRIVATE, _PUBLIC = 0o600, 0o644
_MOST_VERSIONS = 10_000
_VERSION = re.compile(r"\.~(\d+)~")


class Draft(Struct, frozen=True):
    """A preset that is to be saved.

    Attributes:
        path: where; links are followed, so that a file kept elsewhere is changed there.
        before: what stands there now; None: nothing.
        text: what is to stand there.
    """

    path: Path
    before: bytes | None
    text: str
    is_private: bool

    @property
    def changes_nothing(self) -> bool:
        """The same stands there already."""
        return self.before == self.text.encode()

    @property
    def diff(self) -> str:
        """What saving changes, line by line; empty for a new file."""
        return "" if self.before is None else diff_texts(_decode(self.before), self.text, "as it is", "as it will be")


def draft(places: Places, preset: Preset) -> Draft:
    """What saving a preset would do.

    Over the file it was read from, unless it has none or comes with sgltui: then into the project's folder where one
    is given, else into the user's.

    Raises:
        UsageError: its name can't be a file's, or what is there can't be read.
    """
    if not is_name(preset.name):
        raise UsageError(f"{preset.name!r} can't be a preset's name", f"use {NAME_RULE}")
    own = preset.path if preset.path is not None and preset.path.parent != find_shipped_presets() else None
    path = Path(os.path.realpath(own or home_of(places) / f"{preset.name}.toml"))
    if path.exists() and not path.is_file():
        raise UsageError(f"{printable(str(path))} is no file", "move it away, or save under another name")
    try:
        before = path.read_bytes()
    except FileNotFoundError:
        before = None
    return Draft(path, before, dump_preset(preset), bool(preset.env))


def home_of(places: Places) -> Path:
    """The folder in which presets are saved."""
    return places.project_presets or places.user_presets


def save(plan: Draft) -> Path | None:
    """Write it; the earlier version is kept, and its path returned.

    Raises:
        RefusedError: the file was changed since the draft was made; nothing was written.
        OSError: it can't be written; what was there is there still.
    """
    plan.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    kept = _keep(plan.path, plan.before) if plan.before is not None and not plan.changes_nothing else None
    if _read_or_none(plan.path) != plan.before:
        if kept is not None:
            kept.unlink()
        raise RefusedError(f"{printable(str(plan.path))} was changed meanwhile", "look at it, then save again")
    mode = _PRIVATE if plan.is_private else _mode_of(plan.path)
    write_atomic(plan.path, plan.text.encode(), mode)
    return kept


def check_removable(path: Path) -> None:
    """Refuse to remove what comes with sgltui.

    Raises:
        UsageError: it does.
    """
    if path.parent == find_shipped_presets():
        raise UsageError(
            f"{path.stem} comes with sgltui and can't be removed", f"a file {path.name} of your own would hide it"
        )


def remove(path: Path) -> Path:
    """Take a preset's file away; it stays as an earlier version, whose path is returned.

    Raises:
        UsageError: it comes with sgltui.
        OSError: it can't be moved.
    """
    check_removable(path)
    kept = _free_version(path)
    path.rename(kept)
    sync_directory(path.parent)
    return kept


def newest_version(path: Path) -> Path | None:
    """The version of a preset's file that was kept last, or None."""
    found: dict[int, Path] = {}
    with suppress(FileNotFoundError):
        for other in path.parent.iterdir():
            match = _VERSION.fullmatch(other.name.removeprefix(path.name))
            if other.name.startswith(path.name) and match:
                found[int(match[1])] = other
    return found[max(found)] if found else None


def diff_texts(before: str, after: str, name_before: str, name_after: str) -> str:
    """A unified diff of two texts."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), name_before, name_after, lineterm="")
    return "\n".join(printable(line) for line in lines)


def _keep(path: Path, data: bytes) -> Path:
    """A copy beside it, made before anything is changed; a crash leaves both."""
    kept = _free_version(path)
    fd = os.open(kept, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _mode_of(path))
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:  # a part of it would be taken for what stood there
        kept.unlink()
        raise
    return kept


def _free_version(path: Path) -> Path:
    newest = newest_version(path)
    number = 1 if newest is None else int(_VERSION.findall(newest.name)[-1]) + 1
    if number > _MOST_VERSIONS:
        raise RefusedError(f"{printable(str(path))} has too many earlier versions", "remove some of them")
    return path.with_name(f"{path.name}.~{number}~")


def _mode_of(path: Path) -> int:
    try:
        return path.stat().st_mode & 0o777
    except FileNotFoundError:
        return _PUBLIC


def _read_or_none(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _decode(data: bytes) -> str:
    return data.decode("utf-8", "backslashreplace")
