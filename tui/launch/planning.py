"""From what is asked to be launched to the facts a plan is made from: model files, flags, GPUs, release."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from tui.budget.changes import find_changes
from tui.budget.plan import plan
from tui.budget.types import Card, Measured, MemoryBudget, PlanRequest, Verdict
from tui.errors import RefusedError
from tui.gpu import GpuProcess, GpuReading, GpuSnapshot
from tui.gpu.capability import capability_of
from tui.gpu.others import held_by_others
from tui.launch import guard
from tui.launch.spec import LaunchSpec
from tui.model.errors import ModelError, UnknownArchitectureError
from tui.model.published import find_config
from tui.model.read import read_model
from tui.model.shapes import Model
from tui.paths import Places
from tui.settings import Settings
from tui.sglang.command import build_arguments
from tui.sglang.config_file import Merged, merge_config
from tui.sglang.interpreter import find_interpreter
from tui.sglang.parse import Flags, inventories_for, parse_flags
from tui.sglang.references import Reference
from tui.sglang.target import Target, recorded_target
from tui.sglang.versions import NEWEST_KNOWN, Release, parse_release
from tui.sglang.words import Words
from tui.units import MIB

_VARIABLE_PREFIX = "SGLANG_"
_ANY_PORT = 30000


class Described(Struct, frozen=True):
    """GPUs that needn't exist: so many equal ones.

    Attributes:
        total_mib: None when unknown.
        free_mib: None for an empty card.
    """

    name: str
    total_mib: int | None
    free_mib: int | None
    count: int


def server_words(spec: LaunchSpec, release: Release) -> list[str]:
    """The flags of a launch as SGLang parses them: a config file among them is read.

    A secret is a placeholder, since no plan depends on one.

    Raises:
        UsageError: the config file can't be used.
    """
    return list(merge_words(spec, recorded_target(release)).words)


def merge_words(spec: LaunchSpec, target: Target) -> Merged:
    """The same, and which of them come from a config file.

    Raises:
        UsageError: the config file can't be used.
    """
    flags = {name: "secret" if isinstance(value, Reference) else value for name, value in spec.flags.items()}
    words = [*build_arguments(flags, spec.model, None, _ANY_PORT, target.inventories), *spec.words]
    return merge_config(words, target.release, target.inventories[-1])


def read_flags(spec: LaunchSpec, release: Release) -> Flags:
    """The flags of a launch, as the release's parser would take them."""
    return parse_flags(server_words(spec, release), inventories_for(release))


def make_request(
    spec: LaunchSpec,
    release: Release,
    cards: Sequence[Card],
    smallest_total_mib: int | None,
    *,
    measured: Measured | None = None,
    model: Model | None = None,
    hub: Path | None = None,
) -> PlanRequest:
    """Everything a plan needs; the model's files are read unless it is given.

    `hub` is the Hugging Face cache to look in, instead of the one that the environment says.

    Raises:
        ModelError: the model can't be found or read.
        UsageError: its config file can't be used.
    """
    flags = read_flags(spec, release)
    read = read_model(find_config(spec.model, cache_dir=hub)[0], spec.model) if model is None else model
    return PlanRequest(
        model=read,
        flags=flags,
        release=release,
        cards=tuple(cards),
        smallest_total_mib=smallest_total_mib,
        draft=_read_draft(flags, spec.model, hub),
        measured=measured or Measured(),
        environment=server_environment(spec.env),
        knows_all_flags=len(inventories_for(release)) == 1,
    )


def plan_launch(
    spec: LaunchSpec,
    release: Release,
    cards: Sequence[Card],
    smallest_total_mib: int | None,
    *,
    measured: Measured | None = None,
    hub: Path | None = None,
) -> MemoryBudget:
    """The budget of a launch, with the changes that would make it fit; an unknown architecture can't be told.

    Raises:
        ModelError: the model can't be found or read.
    """
    try:
        request = make_request(spec, release, cards, smallest_total_mib, measured=measured, hub=hub)
    except UnknownArchitectureError as error:
        reason = f"can't tell: {error.what}"
        return MemoryBudget(spec.model, release.text, tuple(cards), Verdict.UNKNOWN, None, reason, None)
    return with_source(plan_with_changes(request), is_published=find_config(spec.model, cache_dir=hub)[1])


def with_source(budget: MemoryBudget, *, is_published: bool) -> MemoryBudget:
    """The budget, which says so where the model's files aren't here."""
    if not is_published:
        return budget
    note = f"{budget.model} isn't downloaded: planned by its published config"
    return replace(budget, notes=(*budget.notes, note))


def plan_with_changes(request: PlanRequest) -> MemoryBudget:
    """The budget, with the changes that would make it fit."""
    budget = plan(request)
    return replace(budget, changes=find_changes(request, budget))


def choose_release(spec: LaunchSpec, settings: Settings, places: Places) -> tuple[Release, str | None]:
    """The release that would run it, and what is doubtful about that."""
    engine = spec.engine
    try:
        found = find_interpreter(engine.python, settings.python, places.simulated, places.settings_file)
    except RefusedError as error:
        if engine.sglang is not None:
            return parse_release(engine.sglang), f"{error.what}: planned for SGLang {engine.sglang}, as the preset says"
        return parse_release(str(NEWEST_KNOWN)), f"{error.what}: planned for SGLang {NEWEST_KNOWN}"
    return parse_release(found.sglang_version), None


def choose_gpus(
    spec: LaunchSpec,
    release: Release,
    reading: GpuReading,
    *,
    visible: str | None = None,
    promised: Collection[str] = (),
) -> tuple[GpuSnapshot, ...]:
    """The GPUs that a launch would get now; `visible` and `promised` as the guard takes them.

    Raises:
        RefusedError: there is none, or not as many as its flags need.
    """
    if not reading.gpus:
        problem = reading.problem
        raise RefusedError(problem.what if problem else "no GPU can be read", problem.hint if problem else "")
    return guard.choose_gpus(reading, spec.gpus, count_gpus(spec, release), visible=visible, promised=promised)


def count_gpus(spec: LaunchSpec, release: Release) -> int:
    """How many GPUs of one machine the flags of a launch need."""
    return Words(server_words(spec, release), release.text).gpu_count()


def cards_of(
    gpus: Sequence[GpuSnapshot], own: Collection[int] = (), names: Mapping[int, str] | None = None
) -> list[Card]:
    """This machine's GPUs, as a plan sees them.

    Args:
        gpus: in rank order.
        own: processes whose memory will be free.
        names: of servers, by the pids of their processes.
    """
    return [_card(gpu, own, names or {}) for gpu in gpus]


def describe_cards(described: Described) -> list[Card]:
    """Equal GPUs that needn't exist. What isn't free is others' and the driver's, one can't tell them apart."""
    total, free = described.total_mib, described.free_mib
    is_known = total is not None and free is not None
    used = max(0, total - free) * MIB if total is not None and free is not None else 0
    capability = capability_of(described.name)
    holders = ("the driver and other processes",) if used else ()
    return [
        Card(
            index=index,
            name=described.name,
            total_mib=total,
            reserved_bytes=0 if is_known else None,
            used_bytes=used,
            capability=capability,
            holders=holders,
        )
        for index in range(described.count)
    ]


def smallest_total(reading: GpuReading) -> int | None:
    """MiB of the smallest card on the machine, which SGLang's defaults follow."""
    return min((gpu.memory.total_bytes // MIB for gpu in reading.gpus if gpu.memory is not None), default=None)


def _card(gpu: GpuSnapshot, own: Collection[int], names: Mapping[int, str]) -> Card:
    memory = gpu.memory
    return Card(
        index=gpu.index,
        name=gpu.name,
        total_mib=None if memory is None else memory.total_bytes // MIB,
        # Memory info v1 counts what the driver keeps as used.
        reserved_bytes=None if memory is None else memory.reserved_bytes or 0,
        used_bytes=held_by_others(gpu, own),
        capability=gpu.capability or capability_of(gpu.name),
        holders=tuple(dict.fromkeys(_holder(process, names) for process in gpu.processes if process.pid not in own)),
    )


def _holder(process: GpuProcess, names: Mapping[int, str]) -> str:
    if process.pid in names:
        return names[process.pid]
    who = (process.command or "a process").split(" ")[0].rpartition("/")[2]
    return f"{who} (pid {process.pid})"


def _read_draft(flags: Flags, model: str, hub: Path | None) -> Model | None:
    """The draft model, where it is another one and its files are here; the plan says when it needs them."""
    path = flags.get("speculative-draft-model-path")
    if path is None or path == model:
        return None
    try:
        return read_model(find_config(path, cache_dir=hub)[0], path)
    except ModelError:
        return None


def server_environment(variables: Mapping[str, str | Reference]) -> dict[str, str]:
    """SGLANG_* variables that the server will have: this process's, and the preset's over them."""
    inherited = {name: value for name, value in os.environ.items() if name.startswith(_VARIABLE_PREFIX)}
    own = {name: value for name, value in variables.items() if isinstance(value, str)}
    return inherited | {name: value for name, value in own.items() if name.startswith(_VARIABLE_PREFIX)}
