"""Inventories that interpreters told, kept on disk: asking takes seconds. One file an interpreter, the last answer."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Literal

import msgspec

from tui.atomic import write_atomic
from tui.sglang.flags import Flag, FlagInventory, make_inventory
from tui.sglang.interpreter import Interpreter

_MAX_BYTES = 16 << 20


class _File(msgspec.Struct, frozen=True, kw_only=True):
    schema: Literal[1]
    python: str
    release: str
    stamp: str
    flags: tuple[Flag, ...]


def read_cached(folder: Path, interpreter: Interpreter) -> FlagInventory | None:
    """What this installation told; None where it wasn't asked, was changed since, or the file can't be used."""
    if not interpreter.stamp:
        return None
    path = _path(folder, interpreter)
    try:
        if path.stat().st_size > _MAX_BYTES:
            return None
        file = msgspec.json.decode(path.read_bytes(), type=_File)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None  # asked again, and written anew
    known = (file.python, file.release, file.stamp)
    if known != (str(interpreter.python), interpreter.sglang_version, interpreter.stamp) or not file.flags:
        return None
    return make_inventory(file.release, file.flags)


def write_cached(folder: Path, interpreter: Interpreter, inventory: FlagInventory) -> None:
    """Keep an answer.

    Raises:
        OSError: it can't be kept; an earlier one is still whole.
    """
    file = _File(
        schema=1,
        python=str(interpreter.python),
        release=interpreter.sglang_version,
        stamp=interpreter.stamp,
        flags=inventory.flags,
    )
    folder.mkdir(parents=True, exist_ok=True)
    write_atomic(_path(folder, interpreter), msgspec.json.encode(file))


def _path(folder: Path, interpreter: Interpreter) -> Path:
    name = hashlib.sha256(str(interpreter.python).encode("utf-8", "surrogateescape")).hexdigest()[:24]
    return folder / f"flags-{name}.json"
