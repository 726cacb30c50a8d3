"""A launch as a preset with its evidence: the flags that were given, and the figures that its records and log tell."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from tui.errors import SgltuiError
from tui.gpu import GpuReading
from tui.hiding import HIDDEN
from tui.keeper.identity import boot_id
from tui.launch.again import main_name, model_of
from tui.launch.explain import case_of, explain
from tui.launch.records import LaunchRecord, Recorded, ReferenceRecord
from tui.paths import Places
from tui.presets import Engine, Evidence, LaunchDefaults, Preset, find_preset
from tui.presets.importing import import_words
from tui.presets.proof import digest_of
from tui.sglang.references import REFERENCE_KINDS, FlagValue, Reference
from tui.sglang.words import nearest_inventory
from tui.units import GIB

_MAX_BYTES = 1 << 20


class Proven(Struct, frozen=True):
    """What is to be saved, and what a person should know about it.

    Attributes:
        notes: what couldn't be taken over, or isn't proved.
    """

    preset: Preset
    notes: tuple[str, ...]


class Smoke(msgspec.Struct, frozen=True, kw_only=True):
    """`smoke.json` of a launch: how a request was answered."""

    ok: bool
    time_to_first_token_s: float | None = None
    tokens_per_s: float | None = None
    error: str | None = None
    schema: int = 1


def preset_of(places: Places, recorded: Recorded, name: str, reading: GpuReading) -> Proven:
    """The preset of a launch, with its evidence if it ever became ready.

    Raises:
        UsageError: its command line isn't a server's.
    """
    launch = recorded.launch
    origin = _origin(places, launch)
    imported = import_words(launch.argv, {}, name, launch.sglang_version)
    notes: list[str] = []
    preset = replace(
        imported.preset,
        model=model_of(launch),
        description=origin.description if origin else "",
        engine=Engine(
            python=origin.engine.python if origin else None,
            sglang=launch.sglang_version,
            entry=imported.preset.engine.entry,
        ),
        flags=_flags(imported.preset.flags, launch, notes),
        env=_environment(launch, notes),
        launch=_defaults(origin, launch, imported.preset.launch),
    )
    evidence = _evidence(recorded, preset, reading)
    if evidence is None:
        notes.append(f"{recorded.address} never became ready, so it proves nothing: saved without evidence")
    elif evidence.smoke is None:
        notes.append("no request was made of it yet: `sgltui test` measures one, then save again")
    return Proven(replace(preset, evidence=evidence), tuple(notes))


def _origin(places: Places, launch: LaunchRecord) -> Preset | None:
    """The preset that it was launched from, as it is now."""
    if launch.preset is None:
        return None
    try:
        return find_preset(places, launch.preset)
    except SgltuiError:  # removed or broken since: its launch stands for itself
        return None


def _flags(read: Mapping[str, FlagValue], launch: LaunchRecord, notes: list[str]) -> dict[str, FlagValue]:
    """The flags with the references that their secrets came from."""
    inventory = nearest_inventory(launch.sglang_version)
    known = {main_name(name, inventory): reference for name, reference in launch.flag_references.items()}
    flags = dict(read)
    for name, value in read.items():
        if isinstance(value, Reference):
            reference = _reference(known.get(main_name(name, inventory)))
            flags[name] = reference or value
            if reference is None:
                notes.append(f"--{name} was typed by hand: the preset takes it from the variable {value.target}")
    return flags


def _environment(launch: LaunchRecord, notes: list[str]) -> dict[str, str | Reference]:
    env: dict[str, str | Reference] = {}
    for name, value in launch.env.items():
        if value != HIDDEN:
            env[name] = value
            continue
        reference = _reference(launch.env_references.get(name))
        env[name] = reference or Reference("env", name)
        if reference is None:
            notes.append(f"where {name} came from isn't on record: the preset takes it from the variable {name}")
    return env


def _defaults(origin: Preset | None, launch: LaunchRecord, typed: LaunchDefaults) -> LaunchDefaults:
    """What its preset said; without one nothing is pinned to the GPUs and the port that were free."""
    if origin is not None:
        return origin.launch
    host = typed.host if typed.host != "127.0.0.1" else None
    port = None if launch.port_chosen else launch.port
    return LaunchDefaults(port=port, host=host, group=launch.group, order=launch.order)


def _reference(record: ReferenceRecord | None) -> Reference | None:
    kind = next((kind for kind in REFERENCE_KINDS if record is not None and kind == record.kind), None)
    return Reference(kind, record.target) if record is not None and kind is not None else None


def _evidence(recorded: Recorded, preset: Preset, reading: GpuReading) -> Evidence | None:
    """None for a launch that never became ready."""
    launch, state = recorded.launch, recorded.state
    if state.ready_at is None:
        return None
    gpu = launch.gpus[0].name if launch.gpus else None
    gpus = len(launch.gpus) or None
    memory = _memory(recorded)
    kv, state_pool = memory.get("kv") or {}, memory.get("mamba") or {}
    smoke = _smoke(recorded)
    peak = state.peak_memory_bytes
    return Evidence(
        status="verified",
        gpu=gpu,
        gpus=gpus,
        driver=reading.driver if recorded.is_local and launch.machine.boot_id == boot_id() else None,
        sglang=launch.sglang_version,
        date=state.ready_at.date(),
        launch=recorded.address,
        weights_gib=memory.get("weights_gib"),
        draft_weights_gib=memory.get("draft_weights_gib"),
        kv_gib=_kv_gib(kv),
        kv_tokens=kv.get("tokens"),
        state_slots=state_pool.get("slots"),
        max_running_requests=memory.get("max_running_requests"),
        context_length=memory.get("context_length"),
        mem_fraction_static=memory.get("mem_fraction_static"),
        peak_memory_gib=None if peak is None else round(peak / GIB, 2),
        seconds_to_ready=_seconds_to_ready(recorded),
        smoke=None if smoke is None else smoke.ok,
        time_to_first_token_s=None if smoke is None else smoke.time_to_first_token_s,
        tokens_per_s=None if smoke is None else smoke.tokens_per_s,
        digest=digest_of(preset, gpu, gpus, launch.sglang_version),
    )


def _memory(recorded: Recorded) -> Mapping[str, Any]:
    """The figures of its log: from the diagnosis that was written when it became ready, else read now."""
    told = _read_json(recorded.files.diagnosis).get("memory")
    if isinstance(told, dict) and told.get("weights_gib") is not None:
        return told
    try:
        return explain(case_of(recorded)).diagnosis.memory
    except SgltuiError:  # its log is gone: the records alone speak
        return {}


def _kv_gib(kv: Mapping[str, Any]) -> float | None:
    parts = [kv.get(name) for name in ("kv_gib", "k_gib", "v_gib", "swa_k_gib", "swa_v_gib")]
    known = [part for part in parts if isinstance(part, int | float)]
    return round(sum(known), 2) if known else None


def _seconds_to_ready(recorded: Recorded) -> float | None:
    state = recorded.state
    if state.ready_at is None or state.started_at is None:
        return None
    return max(0.0, round((state.ready_at - state.started_at).total_seconds(), 1))


def _smoke(recorded: Recorded) -> Smoke | None:
    path = recorded.files.smoke
    try:
        return msgspec.json.decode(path.read_bytes(), type=Smoke)
    except (FileNotFoundError, msgspec.DecodeError):  # none was made, or by a newer version of ours
        return None


def _read_json(path: Path) -> dict[str, Any]:
    """A file of ours; empty where there is none, or it can't be understood."""
    try:
        with path.open("rb") as file:
            value = json.loads(file.read(_MAX_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
