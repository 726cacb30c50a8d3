"""Budgets of launches on this machine: whose memory counts, which release and GPUs are meant, what is planned anew."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.support.simulated import read_gpu
from tui.budget.plan import plan
from tui.budget.types import BudgetItem, MemoryBudget, PlanRequest, Verdict
from tui.errors import RefusedError, SgltuiError
from tui.gpu import GpuMemory, GpuProcess, GpuReading, GpuSnapshot
from tui.gpu.others import held_by_others
from tui.gpu.simulated import SimulatedReader
from tui.keeper.identity import identify
from tui.keeper.records import LaunchRecords, utc_now
from tui.keeper.states import State
from tui.launch.budgets import Budgets
from tui.launch.directory import create_launch, next_launch
from tui.launch.records import GivenGpu, LaunchRecord, Machine, find_launch
from tui.launch.spec import LaunchSpec, spec_from_model, spec_from_preset
from tui.model import published
from tui.model.errors import ModelError
from tui.paths import Places
from tui.presets import find_preset
from tui.settings import Settings
from tui.simulator.machine import Machine as SimulatedMachine
from tui.simulator.models import find_model as find_simulated_model
from tui.units import GIB, MIB

STORY = (
    *("--mem-fraction-static", "0.8", "--mamba-scheduler-strategy", "extra_buffer"),
    *("--speculative-algorithm", "EAGLE", "--speculative-num-steps", "3"),
    *("--speculative-eagle-topk", "1", "--speculative-num-draft-tokens", "4"),
)


@pytest.fixture
def machine(make_machine: Callable[..., SimulatedMachine]) -> SimulatedMachine:
    return make_machine()


@pytest.fixture
def places(machine: SimulatedMachine) -> Places:
    places = Places(machine.directory / "state", machine.directory / "config", machine.directory)
    places.instances.mkdir(parents=True)
    return places


@pytest.fixture
def budgets(places: Places) -> Budgets:
    return Budgets(places, Settings())


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The models that were planned for, a line a plan."""
    planned: list[str] = []

    def counting(request: PlanRequest) -> MemoryBudget:
        planned.append(request.model.name)
        return plan(request)

    monkeypatch.setattr("tui.launch.budgets.plan", counting)
    return planned


def reading(machine: SimulatedMachine, *processes: GpuProcess) -> GpuReading:
    """The machine with these processes on GPU 0."""
    first, second = (read_gpu(machine, index) for index in (0, 1))
    return GpuReading((holding(first, *processes), second), simulated=True)


def holding(gpu: GpuSnapshot, *processes: GpuProcess) -> GpuSnapshot:
    assert gpu.memory is not None
    used = sum(process.used_bytes or 0 for process in processes)
    free = gpu.memory.free_bytes + gpu.memory.used_bytes - used
    memory = msgspec.structs.replace(gpu.memory, used_bytes=used, free_bytes=free)
    return msgspec.structs.replace(gpu, memory=memory, processes=processes)


def record(places: Places, simulated: SimulatedMachine, *words: str, **fields: Any) -> str:
    """A launch on record; returns its address."""
    gpu = simulated.gpus[0]
    argv = [str(simulated.python), "-m", "sglang.launch_server", "--model-path", "Qwen/Qwen3.6-27B", *words]
    launch = LaunchRecord(
        name="one",
        launch=next_launch(places, "one"),
        created_at=datetime.now(UTC),
        argv=argv,
        model="Qwen/Qwen3.6-27B",
        host="127.0.0.1",
        port=31000,
        gpus=[GivenGpu(gpu.index, gpu.uuid, gpu.name)],
        mark="no such mark",
        machine=Machine.this(),
        cwd="/",
        sglang_version="0.5.11",
    )
    launch = msgspec.structs.replace(launch, **fields)
    create_launch(places, launch)
    return f"{launch.name}/{launch.launch}"


def item(budget: MemoryBudget, component: str) -> BudgetItem | None:
    return next((one for one in budget.ranks[0].items if one.component == component), None)


def test_the_storys_launch_is_planned_from_its_record(
    budgets: Budgets, places: Places, machine: SimulatedMachine
) -> None:
    address = record(places, machine, "--host", "127.0.0.1", "--port", "31000", "--api-key", "***", *STORY)
    budget = budgets.plan_launch(address, reading(machine), ())
    assert (budget.verdict, budget.release, budget.warnings) == (Verdict.EXCEEDS, "0.5.11", ())
    reserve = item(budget, "state reserve for drafts")
    assert reserve is not None
    assert reserve.size == 48 * 4 * 153_944_064
    assert budget.changes[0].set == {"max-running-requests": "8"}


def test_its_own_memory_counts_as_free_and_others_dont(
    budgets: Budgets, places: Places, machine: SimulatedMachine
) -> None:
    address = record(places, machine, "--max-running-requests", "8", *STORY)
    own = GpuProcess(101, 70 * GIB, "me", "sglang::scheduler")
    bob = GpuProcess(202, 2 * GIB, "bob", "/usr/bin/python train.py")
    alone = budgets.plan_launch(address, reading(machine), ())
    running = budgets.plan_launch(address, reading(machine, own), {101})
    assert running == alone
    beside = budgets.plan_launch(address, reading(machine, own, bob), {101})
    others = item(beside, "other processes")
    assert others is not None
    assert (others.size, others.formula) == (2 * GIB, "held now by python (pid 202)")
    assert budgets.plan_launch(address, reading(machine, own), ()).verdict is Verdict.EXCEEDS


def test_where_the_driver_names_no_amounts_all_is_taken_for_its_own(
    budgets: Budgets, places: Places, machine: SimulatedMachine
) -> None:
    address = record(places, machine, "--max-running-requests", "8", *STORY)
    gpu = read_gpu(machine, 0)
    memory = GpuMemory(gpu.memory.total_bytes, 60 * GIB, 30 * GIB, None) if gpu.memory else None
    untold = msgspec.structs.replace(gpu, memory=memory, processes=(GpuProcess(101, None),))
    assert held_by_others(untold, {101}) == 0
    budget = budgets.plan_launch(address, GpuReading((untold,)), {101})
    assert budget.verdict is Verdict.FITS
    assert "doesn't tell who holds memory of GPU 0" in budget.warnings[0]


def test_the_same_question_is_planned_once(
    budgets: Budgets, places: Places, machine: SimulatedMachine, plans: list[str]
) -> None:
    address = record(places, machine, "--max-running-requests", "8", *STORY)
    bob = GpuProcess(202, 2 * GIB, "bob", "python")
    first = budgets.plan_launch(address, reading(machine, bob), ())
    nearly = GpuProcess(202, 2 * GIB + 5 * MIB, "bob", "python")
    assert budgets.plan_launch(address, reading(machine, nearly), ()) is not None
    assert plans == ["Qwen/Qwen3.6-27B"]
    assert budgets.plan_launch(address, reading(machine), ()) != first
    budgets.plan_launch(record(places, machine, *STORY), reading(machine), ())
    assert len(plans) == 3


def test_a_model_that_changed_on_disk_is_read_again(
    budgets: Budgets, places: Places, machine: SimulatedMachine, tmp_path: Path
) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    config = json.loads(next((places.hub or tmp_path).rglob("models--Qwen--Qwen3-8B/**/config.json")).read_text())
    spec = LaunchSpec("mine", str(folder), flags={"context-length": 8192})
    with pytest.raises(ModelError, match=r"no config\.json"):
        budgets.plan_spec(spec, reading(machine))
    (folder / "config.json").write_text(json.dumps(config))
    before = budgets.plan_spec(spec, reading(machine))
    (folder / "config.json").write_text(json.dumps({**config, "num_hidden_layers": 18}))
    after = budgets.plan_spec(spec, reading(machine))
    assert before.weights is not None
    assert after.weights is not None
    assert after.weights < before.weights


def test_a_draft_model_that_came_later_or_changed_is_planned_with(
    budgets: Budgets, machine: SimulatedMachine, tmp_path: Path
) -> None:
    folder = tmp_path / "draft"
    steps = {"speculative-num-steps": 3, "speculative-eagle-topk": 1, "speculative-num-draft-tokens": 4}
    flags: dict[str, Any] = {
        "speculative-algorithm": "EAGLE3",
        "speculative-draft-model-path": str(folder),
        **steps,
    }
    spec = LaunchSpec("mine", "meta-llama/Llama-3.1-8B-Instruct", flags=flags)
    config = json.loads((Path(published.__file__).parent / "configs" / "eagle3-llama-3.1-8b.json").read_text())

    def draft_bytes() -> float:
        found = item(budgets.plan_spec(spec, reading(machine), changes=False), "draft weights")
        assert found is not None
        return found.size

    assert budgets.plan_spec(spec, reading(machine), changes=False).verdict is Verdict.UNKNOWN
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    before = draft_bytes()
    (folder / "config.json").write_text(json.dumps({**config, "intermediate_size": 2 * config["intermediate_size"]}))
    assert draft_bytes() > before


def test_a_relative_folder_is_meant_from_where_it_was_launched(
    budgets: Budgets, places: Places, machine: SimulatedMachine, tmp_path: Path
) -> None:
    config = next((places.hub or tmp_path).rglob("models--Qwen--Qwen3-8B/**/config.json"))
    (tmp_path / "models" / "mine").mkdir(parents=True)
    (tmp_path / "models" / "mine" / "config.json").write_bytes(config.read_bytes())
    address = record(places, machine, model="./mine", argv=["sglang", "serve"], cwd=str(tmp_path / "models"))
    assert budgets.plan_launch(address, reading(machine), ()).kv is not None


def test_a_launch_without_a_release_says_what_it_is_planned_for(
    budgets: Budgets, places: Places, machine: SimulatedMachine
) -> None:
    address = record(places, machine, sglang_version=None)
    budget = budgets.plan_launch(address, reading(machine), ())
    assert budget.release == "0.5.23"
    assert budget.warnings[0] == "its release isn't on record: planned for SGLang 0.5.23"


def test_what_cannot_be_planned_is_refused_with_a_reason(
    budgets: Budgets, places: Places, machine: SimulatedMachine
) -> None:
    gone = record(places, machine, gpus=[GivenGpu(7, "GPU-gone", "an H200")])
    with pytest.raises(RefusedError, match="GPU 7, which it was given, isn't in this machine any more"):
        budgets.plan_launch(gone, reading(machine), ())
    there = msgspec.structs.replace(Machine.this(), hostname="gpu-box-9")
    with pytest.raises(RefusedError, match="was launched on gpu-box-9"):
        budgets.plan_launch(record(places, machine, machine=there), reading(machine), ())
    with pytest.raises(SgltuiError, match="nobody/has-this"):
        budgets.plan_spec(spec_from_model("nobody/has-this"), reading(machine))
    problem = SimulatedReader(machine.directory / "nothing").read()
    with pytest.raises(RefusedError, match="no simulated machine"):
        budgets.plan_spec(spec_from_model("Qwen/Qwen3-8B"), problem)


def test_a_preset_is_planned_on_the_gpus_it_would_get(
    budgets: Budgets, places: Places, machine: SimulatedMachine
) -> None:
    spec = spec_from_preset(find_preset(places, "llama-3.1-8b"))
    bob = GpuProcess(202, 20 * GIB, "bob", "python")
    assert [card.index for card in budgets.plan_spec(spec, reading(machine, bob)).cards] == [1]
    crowded = budgets.plan_spec(spec.changed(gpus="0"), reading(machine, bob))
    assert [card.index for card in crowded.cards] == [0]
    assert item(crowded, "other processes") is not None
    both = budgets.plan_spec(spec_from_preset(find_preset(places, "qwen3-32b-tp2")), reading(machine))
    assert [rank.gpu for rank in both.ranks] == [0, 1]
    with pytest.raises(RefusedError, match="need 2 GPUs"):
        budgets.plan_spec(spec_from_preset(find_preset(places, "qwen3-32b-tp2")).changed(gpus="0"), reading(machine))


@pytest.mark.parametrize("preset", ["llama-3.1-8b", "qwen3-0.6b", "qwen3-32b-tp2", "qwen36-27b-mtp"])
def test_each_shipped_preset_fits_the_demos_gpus(
    budgets: Budgets, places: Places, machine: SimulatedMachine, preset: str
) -> None:
    budget = budgets.plan_spec(spec_from_preset(find_preset(places, preset)), reading(machine))
    assert (budget.verdict, budget.release) == (Verdict.FITS, machine.release)


@pytest.mark.parametrize(
    "name",
    ["Qwen/Qwen3.6-27B", "Qwen/Qwen3-0.6B", "Qwen/Qwen3-8B", "Qwen/Qwen3-30B-A3B", "meta-llama/Llama-3.1-8B-Instruct"],
)
def test_the_demos_configs_are_those_of_the_models_it_simulates(
    budgets: Budgets, machine: SimulatedMachine, name: str
) -> None:
    simulated = find_simulated_model(name)
    budget = budgets.plan_spec(spec_from_model(name), reading(machine))
    assert budget.weights is not None
    assert budget.kv is not None
    assert budget.weights / GIB == pytest.approx(simulated.weights_gib, rel=0.005)
    assert budget.kv.bytes_per_token == simulated.kv_bytes_per_token
    assert budget.context_length == simulated.context_length


def test_a_neighbour_is_called_by_its_name_and_may_still_grow(
    budgets: Budgets, places: Places, machine: SimulatedMachine
) -> None:
    start_loading(places, record(places, machine, name="other"))
    spec = spec_from_preset(find_preset(places, "llama-3.1-8b"))
    theirs = GpuProcess(os.getpid(), 3 * GIB, "me", "sglang::scheduler")
    budget = budgets.plan_spec(spec.changed(gpus="0"), reading(machine, theirs))
    others = item(budget, "other processes")
    assert others is not None
    assert others.formula == "held now by other"
    assert budget.warnings == ("other on GPU 0 is still loading, and will take more than it holds now",)
    assert [card.index for card in budgets.plan_spec(spec, reading(machine)).cards] == [1]  # promised GPUs come last
    itself = budgets.plan_launch("other", reading(machine, theirs), {os.getpid()})
    assert (itself.warnings, item(itself, "other processes")) == ((), None)


def start_loading(places: Places, address: str) -> None:
    """This very process is that launch's server, and loads."""
    me = identify(os.getpid())
    assert me is not None
    records = LaunchRecords(find_launch(places, address).files)
    records.move(State.STARTING, keeper=me.as_json(), server=me.as_json(), members=[me.as_json()], started_at=utc_now())
    records.move(State.LOADING)
