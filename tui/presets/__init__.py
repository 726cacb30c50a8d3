"""Presets: launches worth keeping, as TOML files that a person likes to write, with what they were proved on."""

from __future__ import annotations

from tui.presets.decode import load_preset
from tui.presets.dump import dump_preset
from tui.presets.library import (
    PresetProblem,
    Presets,
    find_preset,
    group_presets,
    load_presets,
    origin_of,
    preset_folders,
)
from tui.presets.preset import Engine, Evidence, LaunchDefaults, Preset
from tui.sglang.references import FlagValue, Reference

__all__ = [
    "Engine",
    "Evidence",
    "FlagValue",
    "LaunchDefaults",
    "Preset",
    "PresetProblem",
    "Presets",
    "Reference",
    "dump_preset",
    "find_preset",
    "group_presets",
    "load_preset",
    "load_presets",
    "origin_of",
    "preset_folders",
]
