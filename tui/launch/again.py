"""A launch that was made, as the one that would make it again: the same flags, GPUs, folder and secrets."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from msgspec.structs import replace

from tui.errors import RefusedError
from tui.hiding import HIDDEN
from tui.launch.records import LaunchRecord, Recorded, RecordError, ReferenceRecord, list_launches, read_launch
from tui.launch.spec import LaunchSpec
from tui.paths import Places
from tui.presets import Engine
from tui.sglang.command import flag_words
from tui.sglang.edit import FlagEdit, edit_words, given_flags
from tui.sglang.flags import FlagInventory
from tui.sglang.references import REFERENCE_KINDS, FlagValue, Reference
from tui.sglang.words import Words, nearest_inventory
from tui.text import printable


def words_of(launch: LaunchRecord) -> tuple[str, ...]:
    """The server's arguments as recorded: behind `python -m sglang.launch_server`, or `sglang serve`.

    Without a port that nobody asked for.
    """
    words = tuple(launch.argv[3:] if _is_module(launch) else launch.argv[2:])
    if not launch.port_chosen:
        return words
    return edit_words(words, FlagEdit(unset=("port",)), nearest_inventory(launch.sglang_version))


def model_of(launch: LaunchRecord) -> str:
    """Its model; a folder that was named from where it was launched is found from here."""
    beside = Path(launch.cwd, launch.model)
    return str(beside) if not launch.model.startswith(("/", "~")) and beside.is_dir() else launch.model


def spec_of(launch: LaunchRecord) -> LaunchSpec:
    """A launch as it was asked for; secrets stand in it as `***`."""
    return LaunchSpec(
        name=launch.name,
        model=model_of(launch),
        words=words_of(launch),
        engine=Engine(python=launch.python, entry="launch_server" if _is_module(launch) else "serve"),
        env=launch.env,
        gpus=tuple(gpu.uuid for gpu in launch.gpus) or None,
        preset=launch.preset,
        restart=launch.restart,
        group=launch.group,
        order=launch.order,
        cwd=launch.cwd,
        port_hint=launch.port if launch.port_chosen else None,
    )


def with_secrets(spec: LaunchSpec, launch: LaunchRecord) -> LaunchSpec:
    """The same with each secret by the reference that it came from; nobody has kept their values.

    Raises:
        RefusedError: one was typed by hand; says how to give it.
    """
    inventory = nearest_inventory(launch.sglang_version)
    references = {main_name(name, inventory): (name, known) for name, known in launch.flag_references.items()}
    flags: dict[str, FlagValue] = {}
    typed: list[str] = []
    for given in given_flags(spec.words, inventory):
        if HIDDEN not in given.words:
            typed += given.typed
        elif given.name in references:
            name, known = references[given.name]
            flags[name] = reference_of(known, f"--{name}")
        else:
            raise RefusedError(
                f"the value of --{given.name} isn't on record: it was typed by hand, and secrets are never kept",
                f"give it anew (--set {given.name}=VALUE), or keep it in a preset by reference",
            )
    env = {name: _secret(name, value, launch.env_references) for name, value in spec.env.items()}
    return replace(spec, flags=flags, words=tuple(typed), env=env)


def edit_spec(spec: LaunchSpec, edit: FlagEdit, inventory: FlagInventory) -> LaunchSpec:
    """A launch with some flags changed; GPUs that it was given are let go where the flags now need another number.

    Raises:
        UsageError: a flag that the release doesn't have, or a value that it doesn't take.
    """
    if not edit:
        return spec
    plain = typed_words(spec)
    edited = replace(spec, flags=_untouched(spec.flags, edit, inventory), words=edit_words(plain, edit, inventory))
    as_many = Words(edited.words, inventory.release).gpu_count() == Words(plain, inventory.release).gpu_count()
    return edited if as_many else replace(edited, gpus=None)


def typed_words(spec: LaunchSpec) -> tuple[str, ...]:
    """All flags of a launch as words, but for those whose value is a reference."""
    plain = {name: value for name, value in spec.flags.items() if not isinstance(value, Reference)}
    return (*(word for name, value in plain.items() for word in flag_words(f"--{name}", value)), *spec.words)


def reference_of(known: ReferenceRecord, key: str) -> Reference:
    """Where a secret on record comes from; `key` is what has it, for messages.

    Raises:
        RefusedError: it was recorded by a newer sgltui.
    """
    kind = next((kind for kind in REFERENCE_KINDS if kind == known.kind), None)
    if kind is None:
        raise RefusedError(
            f"{key} comes from a {printable(known.kind)!r}, which this sgltui doesn't know",
            "update it, or launch its preset",
        )
    return Reference(kind, known.target)


def last_that_worked(places: Places, name: str) -> Recorded | None:
    """The newest launch of a name, before its present one, that became ready."""
    for launch in reversed(list_launches(places, name)[:-1]):
        with suppress(RecordError):  # one that can't be read is nobody's proof; `doctor` shows it
            recorded = read_launch(places.instances / name / launch)
            if recorded.state.ready_at is not None or (recorded.exit is not None and recorded.exit.was_ready):
                return recorded
    return None


def main_name(name: str, inventory: FlagInventory) -> str:
    """The main spelling of a flag of the release, without dashes; another name as it is."""
    flag = inventory.find(f"--{name}")
    return name if flag is None else flag.name


def _untouched(flags: Mapping[str, FlagValue], edit: FlagEdit, inventory: FlagInventory) -> dict[str, FlagValue]:
    """References that the edit says nothing of."""
    touched = {main_name(name, inventory) for name in (*(name for name, _ in edit.set), *edit.unset)}
    return {
        name: value
        for name, value in flags.items()
        if isinstance(value, Reference) and main_name(name, inventory) not in touched
    }


def _secret(name: str, value: str | Reference, references: Mapping[str, ReferenceRecord]) -> str | Reference:
    if value != HIDDEN:
        return value
    if name not in references:
        raise RefusedError(
            f"where the value of {name} came from isn't on record", "launch it from its preset, which has the reference"
        )
    return reference_of(references[name], name)


def _is_module(launch: LaunchRecord) -> bool:
    return launch.argv[1:2] == ["-m"]
