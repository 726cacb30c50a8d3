"""Finding presets: the project's folder over the user's over the shipped ones. A broken file hides no other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tui.errors import UsageError
from tui.paths import Places, find_shipped_presets
from tui.presets.decode import load_preset
from tui.presets.preset import Preset
from tui.text import printable
from tui.toml_decode import TomlError, did_you_mean

_SUFFIX = ".toml"


@dataclass(frozen=True, slots=True)
class PresetProblem:
    """A file or folder that can't be used, and why."""

    path: Path
    message: str


@dataclass(frozen=True, slots=True)
class Presets:
    """All presets by name, and what is wrong with the rest."""

    presets: tuple[Preset, ...]
    problems: tuple[PresetProblem, ...]


def load_presets(places: Places) -> Presets:
    """All presets, sorted by name.

    A file of the same name in a folder further in front replaces the one behind it, also when it is broken: launching
    another preset than the one that was edited would be worse than launching none.
    """
    files, problems = _find_files(places)
    presets: list[Preset] = []
    for path in files.values():
        try:
            presets.append(load_preset(path))
        except TomlError as error:
            problems.append(PresetProblem(path, str(error)))
    presets.sort(key=lambda preset: preset.name)
    return Presets(tuple(presets), tuple(problems))


def find_preset(places: Places, name_or_path: str) -> Preset:
    """A preset by its name, or by a path that ends in `.toml`.

    Raises:
        TomlError: its file can't be used.
        UsageError: there is none of that name.
    """
    if name_or_path.endswith(_SUFFIX):
        return load_preset(Path(name_or_path))
    files, _ = _find_files(places)
    if name_or_path not in files:
        raise UsageError(f"no preset is named {name_or_path!r}", did_you_mean(name_or_path, files, "presets"))
    return load_preset(files[name_or_path])


def group_presets(places: Places, group: str) -> tuple[Preset, ...]:
    """The presets of a group, in the order in which they start.

    Raises:
        UsageError: there is no such group; or a file that can't be read may be one of it.
    """
    found = load_presets(places)
    members = [preset for preset in found.presets if preset.launch.group == group]
    if not members:
        known = sorted({preset.launch.group for preset in found.presets if preset.launch.group is not None})
        raise UsageError(f"no preset is in a group {group!r}", did_you_mean(group, known, "groups"))
    return tuple(sorted(members, key=lambda preset: (preset.launch.order, preset.name)))


def _find_files(places: Places) -> tuple[dict[str, Path], list[PresetProblem]]:
    """The file behind each name, and folders that can't be read."""
    files: dict[str, Path] = {}
    problems: list[PresetProblem] = []
    for folder in _folders(places):
        try:
            for path in sorted(folder.iterdir()):
                if path.suffix == _SUFFIX and not path.name.startswith("."):  # editors' locks and temporary files
                    files.setdefault(path.stem, path)
        except FileNotFoundError:
            if folder == places.project_presets:  # asked for, unlike the others
                problems.append(PresetProblem(folder, f"no such folder: {printable(str(folder))}"))
        except OSError as error:
            problems.append(PresetProblem(folder, f"{printable(str(folder))} can't be read: {error.strerror}"))
    return files, problems


def _folders(places: Places) -> Iterator[Path]:
    if places.project_presets is not None:
        yield places.project_presets
    yield places.user_presets
    yield find_shipped_presets()
