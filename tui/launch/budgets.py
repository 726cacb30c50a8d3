"""Memory budgets of launches, made and to be made, for front ends that ask again and again: the last are kept."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from pathlib import Path
from threading import Lock
from typing import Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from tui.budget.changes import find_changes
from tui.budget.plan import plan
from tui.budget.types import Card, Measured, MemoryBudget, PlanRequest, Verdict
from tui.errors import RefusedError
from tui.gpu import GpuReading, GpuSnapshot
from tui.gpu.others import knows_share
from tui.keeper.states import State
from tui.launch import guard
from tui.launch.again import spec_of
from tui.launch.measured import contents_of, fill, recall
from tui.launch.planning import (
    cards_of,
    choose_gpus,
    choose_release,
    make_request,
    server_words,
    smallest_total,
    with_source,
)
from tui.launch.records import LaunchRecord, Recorded, find_launch
from tui.launch.spec import LaunchSpec
from tui.model.errors import ModelError
from tui.model.published import find_config
from tui.model.read import read_model
from tui.model.shapes import Model
from tui.paths import Places
from tui.settings import Settings
from tui.sglang.versions import NEWEST_KNOWN, Release, parse_release
from tui.sglang.words import Words
from tui.units import MIB

_KEPT_BUDGETS, _KEPT_MODELS = 64, 8
_STEP_BYTES = 64 * MIB  # others' memory that differs by less makes no other plan

_GROWING = frozenset({State.PENDING, State.STARTING, State.LOADING})

T = TypeVar("T")


class _Plain(Struct, frozen=True):
    """A budget without the changes that would make it fit, and what they are found from."""

    request: PlanRequest
    budget: MemoryBudget


class _Files(Struct, frozen=True):
    """A model's files as they are now; looked for once a plan.

    Attributes:
        place: their folder, or the config alone.
        is_published: that is the published one, since the model isn't here.
        stamp: another one when a download goes on, or the files are replaced.
    """

    model: str
    place: Path
    is_published: bool
    stamp: tuple[int, ...]


class Budgets:
    """Plans launches of this machine.

    Args:
        places: whose records, and where a simulated machine keeps its models.
        settings: the user's defaults.
    """

    def __init__(self, places: Places, settings: Settings) -> None:
        self._places = places
        self._settings = settings
        self._plain: _Recent[_Plain] = _Recent(_KEPT_BUDGETS)
        self._budgets: _Recent[MemoryBudget] = _Recent(_KEPT_BUDGETS)
        self._models: _Recent[Model] = _Recent(_KEPT_MODELS)
        self._contents: _Recent[str | None] = _Recent(_KEPT_MODELS)

    def plan_spec(
        self,
        spec: LaunchSpec,
        reading: GpuReading,
        visible: str | None = None,
        own: Collection[int] = (),
        *,
        changes: bool = True,
    ) -> MemoryBudget:
        """What a launch would take that is to be made; weights that an earlier launch measured are taken for measured.

        Args:
            spec: the launch.
            reading: the machine's GPUs.
            visible: the user's own CUDA_VISIBLE_DEVICES, which limits the choice.
            own: processes that it takes the place of; what they hold counts as free.
            changes: look for those that would make it fit, which takes ten times as long as the plan.

        Raises:
            SgltuiError: the model can't be read, or the GPUs can't be had.
        """
        release, doubt = choose_release(spec, self._settings, self._places)
        running = [one for one in guard.running(self._places) if one.launch.name != spec.name or not own]
        gpus = choose_gpus(spec, release, reading, visible=visible, promised=guard.promised_gpus(running))
        cards = cards_of(gpus, own, _names(running))
        files = self._find(spec.model)
        contents = self._contents.get(files, lambda: contents_of(spec.model, self._places.hub))
        measured, known = fill(Measured(), recall(self._places, spec, release, cards, contents=contents))
        budget = self._plan(spec, files, release, cards, smallest_total(reading), measured=measured, changes=changes)
        notes = budget.notes if known is None else (*budget.notes, known)
        return replace(_warned(budget, doubt, *_memory_doubts(gpus), *_loading_doubts(gpus, running)), notes=notes)

    def plan_launch(self, address: str, reading: GpuReading, own: Collection[int]) -> MemoryBudget:
        """What a launch takes that was made, on the GPUs it was given, were it made again now.

        Args:
            address: `NAME/LAUNCH`.
            reading: the machine's GPUs.
            own: its processes; what they hold counts as free.

        Raises:
            SgltuiError: its record or its model can't be read, or its GPUs aren't there.
        """
        recorded = find_launch(self._places, address)
        if not recorded.is_local:
            raise RefusedError(f"{address} was launched on {recorded.launch.machine.hostname}", "see its budget there")
        launch = recorded.launch
        gpus = [_find_gpu(reading, gpu.uuid, gpu.index) for gpu in launch.gpus]
        others = [one for one in guard.running(self._places) if one.launch.name != launch.name]
        cards = cards_of(gpus, own, _names(others))
        spec, release = spec_of(launch), _release_of(launch)
        budget = self._plan(spec, self._find(spec.model), release, cards, smallest_total(reading))
        doubts = (*(_share_doubt(gpu, own) for gpu in gpus), *_memory_doubts(gpus), *_loading_doubts(gpus, others))
        return _warned(budget, _release_doubt(launch), *doubts)

    def read(self, model: str) -> Model:
        """A model's shapes, by its files as they are now; the last are kept.

        Raises:
            ModelError: it can't be found or read.
        """
        return self._read(self._find(model))

    def _find(self, model: str) -> _Files:
        place, is_published = find_config(model, cache_dir=self._places.hub)
        return _Files(model, place, is_published, _stamp(place))

    def _find_draft(self, model: str | None) -> _Files | None:
        """Those of a draft model, as far as they are here: it may be planned without."""
        try:
            return None if model is None else self._find(model)
        except ModelError:  # not yet
            return None

    def _read(self, files: _Files) -> Model:
        return self._models.get(files, lambda: read_model(files.place, files.model))

    def _plan(
        self,
        spec: LaunchSpec,
        files: _Files,
        release: Release,
        cards: list[Card],
        smallest_total_mib: int | None,
        *,
        measured: Measured | None = None,
        changes: bool = True,
    ) -> MemoryBudget:
        coarse = tuple(replace(card, used_bytes=card.used_bytes // _STEP_BYTES) for card in cards)
        environment = tuple(sorted((name, str(value)) for name, value in spec.env.items()))
        words = tuple(server_words(spec, release))
        draft = self._find_draft(Words(words, release.text).get("--speculative-draft-model-path"))
        key = (files, draft, words, environment, release.text, coarse, smallest_total_mib, measured)

        def work_out() -> _Plain:
            read, hub = self._read(files), self._places.hub
            request = make_request(spec, release, cards, smallest_total_mib, measured=measured, model=read, hub=hub)
            return _Plain(request, with_source(plan(request), is_published=files.is_published))

        plain = self._plain.get(key, work_out, keeps=lambda one: one.budget.verdict is not Verdict.UNKNOWN)
        if not changes or plain.budget.verdict in (Verdict.FITS, Verdict.UNKNOWN):
            return plain.budget
        return self._budgets.get(key, lambda: replace(plain.budget, changes=find_changes(plain.request, plain.budget)))


class _Recent(Generic[T]):
    """The values that were asked for last, by key."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: OrderedDict[Hashable, T] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Hashable, make: Callable[[], T], keeps: Callable[[T], bool] = lambda _value: True) -> T:
        """The value of a key, made if it isn't there; two threads may make it at once. Kept only if `keeps` says so."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                return self._values[key]
        value = make()
        if keeps(value):
            with self._lock:
                self._values[key] = value
                while len(self._values) > self._most:
                    self._values.popitem(last=False)
        return value


def _release_of(launch: LaunchRecord) -> Release:
    return parse_release(launch.sglang_version or str(NEWEST_KNOWN))


def _release_doubt(launch: LaunchRecord) -> str | None:
    return None if launch.sglang_version else f"its release isn't on record: planned for SGLang {NEWEST_KNOWN}"


def _share_doubt(gpu: GpuSnapshot, own: Collection[int]) -> str | None:
    if knows_share(gpu, own):
        return None
    return f"the driver doesn't tell who holds memory of GPU {gpu.index}: all that is in use is taken for its own"


def _memory_doubts(gpus: Sequence[GpuSnapshot]) -> list[str]:
    """GPUs whose memory isn't theirs alone, or isn't one."""
    shared = [
        f"GPU {gpu.index} shares the host's memory: what other programs take later is missing there"
        for gpu in gpus
        if gpu.shares_host_memory
    ]
    split = [
        f"GPU {gpu.index} is split into MIG instances now: no plan is of one of those" for gpu in gpus if gpu.instances
    ]
    return shared + split


def _loading_doubts(gpus: Sequence[GpuSnapshot], others: Iterable[Recorded]) -> list[str]:
    """Servers on these GPUs that haven't got all of their memory yet."""
    found = []
    for other in others:
        theirs = {gpu.uuid for gpu in other.launch.gpus}
        shared = [str(gpu.index) for gpu in gpus if gpu.uuid in theirs]
        if shared and other.current_state() in _GROWING:
            words = (
                f"{other.launch.name} on GPU {', '.join(shared)} is still loading, and will take more than it holds now"
            )
            found.append(words)
    return found


def _names(running: Iterable[Recorded]) -> dict[int, str]:
    """Which server a process belongs to."""
    return {member.pid: launch.launch.name for launch in running for member in launch.living_members()}


def _warned(budget: MemoryBudget, *doubts: str | None) -> MemoryBudget:
    return replace(budget, warnings=(*filter(None, doubts), *budget.warnings))


def _find_gpu(reading: GpuReading, uuid: str, index: int) -> GpuSnapshot:
    for gpu in reading.gpus:
        if gpu.uuid == uuid:
            return gpu
    if reading.problem is not None:
        raise RefusedError(reading.problem.what, reading.problem.hint)
    raise RefusedError(f"GPU {index}, which it was given, isn't in this machine any more", "see `sgltui gpus`")


def _stamp(model: Path) -> tuple[int, ...]:
    files = [model, *(model / name for name in ("config.json", "model.safetensors.index.json"))]
    return tuple(path.stat().st_mtime_ns for path in files if path.exists())
