"""Saving a launch as a preset: what would be written first, then the file, with the launch kept as its evidence."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from tui.errors import SgltuiError
from tui.gpu import GpuReading
from tui.launch.directory import launching
from tui.launch.pins import pin
from tui.launch.proving import Proven, preset_of
from tui.launch.records import Recorded, find_launch
from tui.paths import Places
from tui.presets.store import Draft, draft, save


class PresetDraft(Struct, frozen=True):
    """A preset that is to be saved.

    Attributes:
        recorded: the launch that it comes from.
        proven: the preset, and what a person should know about it.
        file: what saving it does to which file.
    """

    recorded: Recorded
    proven: Proven
    file: Draft


def draft_preset(places: Places, address: str, name: str, reading: GpuReading) -> PresetDraft:
    """What saving a launch under this name would do.

    Raises:
        SgltuiError: there is no such launch, it can't be a preset, or the name can't be a file's.
    """
    recorded = find_launch(places, address)
    proven = preset_of(places, recorded, name, reading)
    return PresetDraft(recorded, proven, draft(places, proven.preset))


def save_preset(places: Places, plan: PresetDraft) -> Path | None:
    """Write it, and keep its evidence; the earlier version of the file is kept, and its path returned.

    Raises:
        SgltuiError: the file was changed since, or can't be written; what was there is there still.
    """
    try:
        kept = None if plan.file.changes_nothing else save(plan.file)
        pin_evidence(places, plan)
    except OSError as error:
        raise SgltuiError(f"{plan.file.path} can't be saved: {error.strerror}") from error
    return kept


def pin_evidence(places: Places, plan: PresetDraft) -> None:
    """Keep the launch for as long as the preset's file names it.

    Raises:
        OSError: it can't be noted.
        SgltuiError: the launch was pruned meanwhile.
    """
    if plan.proven.preset.evidence is not None and plan.recorded.is_local:
        with launching(places):  # no launch prunes meanwhile
            find_launch(places, plan.recorded.address)
            pin(plan.recorded, plan.file.path)
