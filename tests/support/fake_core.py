"""A core made of hand-written values, for tests of the screen."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from msgspec import structs

from tui.app.core import Adjusted, Editable, FlagSheet, LaunchedServer, LaunchRequest, StopOutcome, Worked
from tui.budget.types import FlagChange, MemoryBudget
from tui.diagnosis.diagnosis import Confidence, Outcome
from tui.diagnosis.progress import Progress, Stage
from tui.diagnosis.stored import Answer
from tui.errors import SgltuiError
from tui.gpu import GpuMemory, GpuProcess, GpuReading, GpuSnapshot
from tui.keeper.identity import ProcessIdentity
from tui.keeper.states import State
from tui.launch.explanation import Explanation
from tui.launch.gpu_choices import JudgedChoice, find_choices, judge_choices
from tui.launch.history import Attempt
from tui.launch.preset_saving import PresetDraft
from tui.metrics.limits import Bound, Limit, find_limit, recent
from tui.metrics.live import LiveMetrics
from tui.metrics.smoke import Smoke
from tui.observe import Instance, Snapshot
from tui.presets import Evidence, LaunchDefaults, Preset, PresetProblem
from tui.presets.proof import Here, Standing, standing_of
from tui.sglang.flags import load_inventory
from tui.units import GIB, MIB

NAME_6000 = "NVIDIA RTX PRO 6000 Blackwell Server Edition"
TOTAL_6000_BYTES = 97887 * MIB  # what NVML says of that GPU
Planned = MemoryBudget | Exception
Subject = LaunchRequest | LaunchedServer | Adjusted
HEALTHY = Answer(1, Outcome.RUNNING, Stage.READY, "none", Confidence.HIGH, "Nothing is wrong with it.")
EMPTY = Snapshot(GpuReading(), ())


def identity(pid: int) -> ProcessIdentity:
    """A process that never ran."""
    return ProcessIdentity(pid, start_ticks=pid, session=pid, boot_id="boot")


def gpu(
    index: int,
    processes: Sequence[GpuProcess] = (),
    *,
    name: str = NAME_6000,
    total_bytes: int = TOTAL_6000_BYTES,
    reserved_bytes: int = 614 * MIB,
    utilization_percent: int | None = 3,
    temperature_c: int | None = 44,
    power_w: float | None = 88.0,
) -> GpuSnapshot:
    """A GPU whose used memory is exactly what its processes hold."""
    used = sum(process.used_bytes or 0 for process in processes)
    memory = GpuMemory(total_bytes, used, total_bytes - used - reserved_bytes, reserved_bytes)
    return GpuSnapshot(
        index, uuid(index), name, memory, utilization_percent, temperature_c, power_w, processes=tuple(processes)
    )


def uuid(index: int) -> str:
    """The uuid of a made-up GPU."""
    return f"GPU-{index:08d}"


def holding(pid: int, gib: float, user: str = "me", command: str = "sglang::scheduler") -> GpuProcess:
    """A process that holds so many GiB."""
    return GpuProcess(pid, round(gib * GIB), user, command)


def instance(name: str, state: State, **changes: object) -> Instance:
    """A server of this machine on GPU 0, port 30000; `changes` are fields of `Instance`."""
    base = Instance(
        name=name,
        launch="20261129T171001Z-0007",
        state=state,
        attended=True,
        local=True,
        progress=None,
        pid=4211,
        gpus=(uuid(0),),
        host="gpu-box-7",
        port=30000,
        started_at=datetime(2026, 11, 29, 17, 10, 1, tzinfo=UTC),
        uptime_s=None,
        ended_at=None,
        preset=name,
        sglang_version="0.5.11",
        log_path=Path("/nonexistent") / name / "server.log",
        members=(),
        memory_bytes=None,
        cause=None,
    )
    return structs.replace(base, **changes)


def story(log_folder: Path) -> Snapshot:
    """The machine of the mock-up: one server ready, one loading, one failed, and a neighbour's process."""
    gpus = GpuReading(
        gpus=(
            gpu(
                0,
                [holding(4211, 71.8), GpuProcess(3321, 820 * MIB, "bob", "/usr/bin/python3 train.py")],
                utilization_percent=97,
                temperature_c=71,
                power_w=512.4,
            ),
            gpu(1, [holding(5120, 18.0)]),
        ),
        driver="580.159",
    )
    return Snapshot(
        gpus,
        (
            instance(
                "qwen36-mtp",
                State.READY,
                uptime_s=2 * 3600.0,
                members=(identity(4211),),
                memory_bytes=round(71.8 * GIB),
                log_path=log_folder / "qwen36-mtp.log",
            ),
            instance(
                "llama8b",
                State.LOADING,
                launch="20261129T191001Z-0001",
                progress=Progress(Stage.WEIGHT_LOAD, 12, 29),
                pid=5120,
                gpus=(uuid(1),),
                port=30001,
                uptime_s=41.0,
                members=(identity(5120),),
                memory_bytes=18 * GIB,
                log_path=log_folder / "llama8b.log",
            ),
            instance(
                "qwen36-512",
                State.FAILED,
                launch="20261129T161001Z-0003",
                progress=Progress(Stage.MEMORY_POOL),
                pid=None,
                cause="512 requests need 294 GiB of state, the pool has 38",
                log_path=log_folder / "qwen36-512.log",
            ),
        ),
    )


def preset(name: str = "qwen36-mtp", **changes: object) -> Preset:
    """A preset as the launch form shows it; `changes` are fields of `Preset`."""
    base = Preset(
        name=name,
        model="Qwen/Qwen3.6-27B",
        description="27B hybrid with MTP on one 96 GB GPU",
        flags={"mem-fraction-static": 0.8, "max-running-requests": 8, "trust-remote-code": True},
        launch=LaunchDefaults(gpus=(0,), port=30000),
        evidence=Evidence(status="verified", note="173k tokens, 8 requests"),
    )
    return replace(base, **changes)  # type: ignore[arg-type]  # field names are checked by replace itself


class FakeCore:
    """Answers what it was given and remembers what it was asked.

    Attributes:
        now: the next snapshot, or the error that looking raises.
        refusal: what `launch` and `stop` raise, if anything.
        gate: `launch` and `stop` wait for it, so that a test can look at the screen meanwhile; it starts open.
        look_gate: `snapshot` waits for it; it starts open.
        presets_gate: `presets` waits for it; it starts open.
        grace_s: as it is set.
        asked, looks: how often `snapshot` was called, and came back.
        budget: what `plan` answers: a budget, an error that is raised, or a function of what is asked about.
        plan_gate: `plan` waits for it; it starts open.
        words: the flags that a relaunch starts from.
        relaunches: what was relaunched.
        smokes: who was sent a small request.
        worked: what `last_worked` answers; None: nothing has.
        explanations: what `explain` answers, by name; without one, that nothing is wrong.
        explain_gate: `explain` waits for it; it starts open.
        histories: what `live_history` answers, by name; `limit` judges it.
        reliefs: what `relief` answers, by what limits.
        relieved: what `relief` was asked for.
        runs: what `engine` answers, or the error that it raises.
        attempts: what `history` answers, by name.
        on_launch: called with the request, to change `now`.
    """

    def __init__(
        self,
        now: Snapshot | Exception = EMPTY,
        presets: Iterable[Preset] = (),
        problems: Iterable[PresetProblem] = (),
    ) -> None:
        self.now = now
        self.refusal: Exception | None = None
        self.gate = threading.Event()
        self.gate.set()
        self.look_gate = threading.Event()
        self.look_gate.set()
        self.presets_gate = threading.Event()
        self.presets_gate.set()
        self.budget: Planned | Callable[[Subject], Planned] = SgltuiError("no plan in this test")
        self.plans: list[Subject] = []
        self.compared: list[Editable] = []
        self.judged: dict[str, tuple[Standing, str]] = {}
        self.draft: PresetDraft | None = None
        self.drafts: list[tuple[str, str]] = []
        self.saved: list[PresetDraft] = []
        self.plan_gate = threading.Event()
        self.plan_gate.set()
        self.explanations: dict[str, Explanation | Exception] = {}
        self.explained: list[LaunchedServer] = []
        self.explain_gate = threading.Event()
        self.explain_gate.set()
        self.histories: dict[str, tuple[LiveMetrics, ...]] = {}
        self.reliefs: dict[Bound, tuple[FlagChange, ...] | Exception] = {}
        self.relieved: list[tuple[str, Bound]] = []
        self.runs: str | Exception = "SGLang 0.5.11 of /opt/sglang/bin/python runs them"
        self.attempts: dict[str, tuple[Attempt, ...]] = {}
        self.grace_s = 30.0
        self.asked = self.looks = 0
        self.on_launch: Callable[[LaunchRequest], None] = lambda _request: None
        self.launches: list[LaunchRequest] = []
        self.words: tuple[str, ...] = ()
        self.relaunches: list[Adjusted] = []
        self.worked: Worked | None = None
        self.stops: list[tuple[str, bool]] = []
        self.smokes: list[str] = []
        self.outcome: StopOutcome | None = None
        self.closed = False
        self.presets_changed: Callable[[], object] = lambda: None
        self._presets = tuple(presets)
        self._problems = tuple(problems)

    def snapshot(self) -> Snapshot:
        """What is set as `now`."""
        self.asked += 1
        self.look_gate.wait(timeout=30)
        self.looks += 1
        if isinstance(self.now, Exception):
            raise self.now
        return self.now

    def engine(self) -> str:
        """What is set as `runs`."""
        if isinstance(self.runs, Exception):
            raise self.runs
        return self.runs

    def presets(self) -> tuple[tuple[Preset, ...], tuple[PresetProblem, ...]]:
        """What it was made with."""
        self.presets_gate.wait(timeout=30)
        return self._presets, self._problems

    def standings(self, presets: Sequence[Preset]) -> Mapping[str, tuple[Standing, str]]:
        """What is set in `judged`, else what the file alone says."""
        return {preset.name: self.judged.get(preset.name) or standing_of(preset, Here()) for preset in presets}

    def draft_preset(self, address: str, name: str) -> PresetDraft:
        """What is set in `draft`; a refusal if told to."""
        self.drafts.append((address, name))
        self._wait()
        assert self.draft is not None
        return self.draft

    def save_preset(self, draft: PresetDraft) -> Path | None:
        """Remember it; the earlier version is kept where there is one."""
        self._wait()
        self.saved.append(draft)
        path = draft.file.path
        return path.with_name(f"{path.name}.~1~") if draft.file.before is not None else None

    def watch_presets(self, stop: threading.Event, changed: Callable[[], object]) -> None:
        """A test says when they have changed."""
        self.presets_changed = changed
        stop.wait()

    def change_presets(self, *presets: Preset) -> None:
        """Somebody edits them while the UI is open."""
        self._presets = presets
        self.presets_changed()

    def plan(self, about: Subject, gpus: GpuReading, *, changes: bool = True) -> MemoryBudget:
        """What is set as `budget`."""
        del gpus
        self.plans.append(about)
        if not self.plan_gate.wait(timeout=30):
            raise SgltuiError("the test never opened the gate")
        answer = self._budget(about)
        return answer if changes else structs.replace(answer, changes=())

    def _budget(self, about: Subject) -> MemoryBudget:
        answer = self.budget(about) if callable(self.budget) else self.budget
        if isinstance(answer, Exception):
            raise answer
        return answer

    def gpu_choices(self, about: Editable, gpus: GpuReading) -> tuple[JudgedChoice, ...]:
        """Each GPU alone, and all of them together, by what `plan` answers."""
        self.compared.append(about)
        count = len(gpus.gpus)
        choices = find_choices(gpus, 1, 1)
        return judge_choices(choices[: count + 1], lambda one: self._budget(replace(about, gpus=one.typed)))

    def explain(self, about: LaunchedServer, gpus: GpuReading) -> Explanation:
        """What is set in `explanations` for this name and state, else that nothing is wrong."""
        del gpus
        self.explained.append(about)
        if not self.explain_gate.wait(timeout=30):
            raise SgltuiError("the test never opened the gate")
        address = f"{about.name}/{about.launch}"
        found = self.explanations.get(about.name) or Explanation(address, about.state, HEALTHY)
        if isinstance(found, Exception):
            raise found
        return structs.replace(found, address=address, state=about.state)

    def report(self, about: LaunchedServer, gpus: GpuReading) -> str:
        """Names what it is about."""
        del gpus
        return f"## report of {about.name}/{about.launch}\n"

    def live_history(self, address: str) -> tuple[LiveMetrics, ...]:
        """What is set in `histories` for this name."""
        return self.histories.get(address.partition("/")[0], ())

    def limit(self, address: str) -> Limit:
        """What those figures show."""
        return find_limit(recent(self.live_history(address)))

    def relief(self, address: str, bound: Bound, gpus: GpuReading) -> tuple[FlagChange, ...]:
        """What is set in `reliefs`."""
        del gpus
        self.relieved.append((address, bound))
        answer = self.reliefs.get(bound, ())
        if isinstance(answer, Exception):
            raise answer
        return answer

    def attempts_at(self, name: str) -> tuple[Attempt, ...]:
        """What is set in `attempts` for this name."""
        return self.attempts.get(name, ())

    def launch(self, request: LaunchRequest) -> str:
        """Remember the request; refuse it if told to."""
        self.launches.append(request)
        self._wait()
        self.on_launch(request)
        return f"{request.name or request.preset}/20261129T200000Z-0001"

    def sheet(self, about: Editable, *, ask: bool) -> FlagSheet:
        """Of SGLang 0.5.11, with its recorded inventory."""
        del about
        return FlagSheet("0.5.11", "Qwen/Qwen3.6-27B", self.words, load_inventory("0.5.11"), "0", is_own=ask)

    def last_worked(self, name: str) -> Worked:
        """What is set as `worked`."""
        if self.worked is None:
            raise SgltuiError(f"no earlier launch of {name} became ready")
        return self.worked

    def relaunch(self, about: Adjusted) -> str:
        """Remember the request; refuse it if told to."""
        self.relaunches.append(about)
        self._wait()
        return f"{about.name}/20261129T200000Z-0008"

    def smoke(self, address: str) -> Smoke:
        """A quick answer; a refusal if told to."""
        self.smokes.append(address)
        self._wait()
        return Smoke("2026-11-30T00:00:00+00:00", ok=True, time_to_first_token_s=0.21, tokens_per_s=41.0)

    def stop(self, name: str, *, kill: bool) -> StopOutcome:
        """Remember the request; refuse it if told to."""
        self.stops.append((name, kill))
        self._wait()
        return self.outcome or StopOutcome(name, (), True, round(71.8 * GIB), 0, 6.2)

    def close(self) -> None:
        """Remember that it was closed."""
        self.closed = True

    def _wait(self) -> None:
        if not self.gate.wait(timeout=30):
            raise SgltuiError("the test never opened the gate")
        if self.refusal is not None:
            raise self.refusal
