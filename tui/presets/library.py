"""Finding presets: the project's folder over the user's over the shipped ones. A broken file hides no other."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, TypeAlias

from msgspec import Struct, field

from tui.errors import UsageError
from tui.paths import Places, find_shipped_presets
from tui.presets.decode import load_preset
from tui.presets.preset import Preset
from tui.text import printable
from tui.toml_decode import TomlError, did_you_mean

_SUFFIX = ".toml"
Origin: TypeAlias = Literal["project", "user", "shipped"]


class PresetProblem(Struct, frozen=True):
    """A file or folder that can't be used, and why."""

    path: Path
    message: str


class Presets(Struct, frozen=True):
    """All presets by name, and what is wrong with the rest.

    Attributes:
        hidden: files that one of the same name hides, by that one's path.
    """

    presets: tuple[Preset, ...]
    problems: tuple[PresetProblem, ...]
    hidden: Mapping[Path, tuple[Path, ...]] = field(default_factory=dict)


def load_presets(places: Places) -> Presets:
    """All presets, sorted by name.

    A file of the same name in a folder further in front replaces the one behind it, also when it is broken: launching
    another preset than the one that was edited would be worse than launching none.
    """
    found, problems = _find_files(places)
    presets: list[Preset] = []
    for path, *_ in found.values():
        try:
            presets.append(load_preset(path))
        except TomlError as error:
            problems.append(PresetProblem(path, str(error)))
    presets.sort(key=lambda preset: preset.name)
    hidden = {path: tuple(others) for path, *others in found.values() if others}
    return Presets(tuple(presets), tuple(problems), hidden)


def find_preset(places: Places, name_or_path: str) -> Preset:
    """A preset by its name, or by a path that ends in `.toml`.

    Raises:
        TomlError: its file can't be used.
        UsageError: there is none of that name.
    """
    if name_or_path.endswith(_SUFFIX):
        return load_preset(Path(name_or_path))
    return load_preset(find_preset_file(places, name_or_path))


def find_preset_file(places: Places, name: str) -> Path:
    """The file of a preset, whether it can be read or not.

    Raises:
        UsageError: there is none of that name.
    """
    files, _ = _find_files(places)
    if name not in files:
        raise UsageError(f"no preset is named {name!r}", did_you_mean(name, files, "presets"))
    return files[name][0]


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


def preset_folders(places: Places) -> tuple[tuple[Path, Origin], ...]:
    """Where presets are looked for: what is further in front wins."""
    project: tuple[tuple[Path, Origin], ...] = ()
    if places.project_presets is not None:
        project = ((places.project_presets, "project"),)
    return (*project, (places.user_presets, "user"), (find_shipped_presets(), "shipped"))


def origin_of(places: Places, preset: Preset) -> Origin | None:
    """Which of the folders a preset comes from; None for one that was named by its path."""
    folders = dict(reversed(preset_folders(places)))
    return folders.get(preset.path.parent) if preset.path is not None else None


def _find_files(places: Places) -> tuple[dict[str, list[Path]], list[PresetProblem]]:
    """The file behind each name and those that it hides, and folders that can't be read."""
    files: dict[str, list[Path]] = {}
    problems: list[PresetProblem] = []
    for folder, origin in preset_folders(places):
        try:
            for path in sorted(folder.iterdir()):
                if path.suffix == _SUFFIX and not path.name.startswith("."):  # editors' locks and temporary files
                    files.setdefault(path.stem, []).append(path)
        except FileNotFoundError:
            if origin == "project":  # asked for, unlike the others
                problems.append(PresetProblem(folder, f"no such folder: {printable(str(folder))}"))
        except OSError as error:
            problems.append(PresetProblem(folder, f"{printable(str(folder))} can't be read: {error.strerror}"))
    return files, problems
