"""Edited presets are noticed while the UI is open."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from tui.paths import Places
from tui.presets.library import preset_folders

_DEBOUNCE_MS = 200
_STEP_MS = 200  # it looks that often whether it shall end, too: its own 50 ms are 0.2 % of a core
_LOOK_AGAIN_MS = 5_000


def watch_presets(places: Places, stop: threading.Event, changed: Callable[[], object]) -> None:
    """Call `changed` after each change of a preset, until `stop` is set; blocks, so it wants a thread of its own.

    A folder that isn't there yet is waited for in the nearest one above it that is.

    Where the system has no watches left, files are looked at again and again instead.
    """
    polls = False
    while not stop.is_set():
        try:
            _watch(places, stop, changed, polls=polls)
        except OSError:  # of inotify
            if polls:
                raise
            polls = True


def _watch(places: Places, stop: threading.Event, changed: Callable[[], object], *, polls: bool) -> None:
    """Until it is stopped."""
    from watchfiles import watch  # noqa: PLC0415 - only the UI watches

    while not stop.is_set():
        watched = {_nearest(folder) for folder, _ in preset_folders(places)}
        for changes in watch(
            *watched,
            recursive=False,
            stop_event=stop,
            force_polling=polls,
            debounce=_DEBOUNCE_MS,
            step=_STEP_MS,
            rust_timeout=_LOOK_AGAIN_MS,
            yield_on_timeout=True,
            raise_interrupt=False,
        ):
            if any(Path(path).suffix == ".toml" or Path(path).is_dir() for _, path in changes):
                changed()
            if {_nearest(folder) for folder, _ in preset_folders(places)} != watched:
                changed()
                break


def _nearest(folder: Path) -> Path:
    return next(path for path in (folder, *folder.absolute().parents) if path.is_dir())
