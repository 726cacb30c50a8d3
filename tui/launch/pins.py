"""Launches that are kept because a preset names them as its evidence, wherever that preset's file is."""

from __future__ import annotations

import json
from pathlib import Path

from tui.atomic import write_atomic
from tui.launch.records import Recorded

_FILE = "pins.json"


def pin(recorded: Recorded, preset: Path) -> None:
    """Keep a launch from being pruned while this preset's file is there, wherever that is.

    Raises:
        OSError: it can't be written.
    """
    pinned = dict.fromkeys([*_pins(recorded), str(preset)])
    document = json.dumps({"schema": 1, "presets": list(pinned)})
    write_atomic(recorded.files.directory / _FILE, document.encode() + b"\n")


def is_pinned(recorded: Recorded) -> bool:
    """One of these files still names it, or may."""
    try:
        pins = _pins(recorded)
    except OSError:
        return True
    return any(_names(Path(path), recorded.address) for path in pins)


def _names(path: Path, address: str) -> bool:
    try:
        return address.encode() in path.read_bytes()
    except FileNotFoundError:
        return False
    except OSError:  # it may; a launch too many does no harm
        return True


def _pins(recorded: Recorded) -> list[str]:
    try:
        found = json.loads((recorded.files.directory / _FILE).read_bytes())["presets"]
    except (FileNotFoundError, ValueError, KeyError, TypeError):  # none, or not by us
        return []
    return [path for path in found if isinstance(path, str)] if isinstance(found, list) else []
