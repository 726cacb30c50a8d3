"""The product as the UI asks for it: the same functions that the other commands call."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

from msgspec import structs

from tui.app.core import Adjusted, Editable, FlagSheet, LaunchedServer, LaunchRequest, StopOutcome, Worked
from tui.budget.types import FlagChange, MemoryBudget
from tui.cli.context import Context
from tui.errors import RefusedError, SgltuiError
from tui.gpu import GpuReading
from tui.keeper.stop import StopRequest
from tui.launch.again import edit_spec, last_that_worked, spec_of, typed_words, words_of
from tui.launch.attendant import Attendant
from tui.launch.budgets import Budgets
from tui.launch.explanation import Explanation
from tui.launch.explanations import Explanations
from tui.launch.flag_check import check_spec
from tui.launch.gpu_choices import GpuChoice, JudgedChoice, find_choices, judge_choices
from tui.launch.history import Attempt
from tui.launch.planning import choose_release, count_gpus, read_flags
from tui.launch.records import Recorded, find_launch
from tui.launch.relaunch import Relauncher
from tui.launch.spec import LaunchSpec, spec_from_preset
from tui.launch.standing import Judge
from tui.launch.start import Launcher
from tui.launch.stop import stop_launch
from tui.lint import Severity
from tui.metrics.limits import Bound, Limit, find_limit
from tui.metrics.live import LiveMetrics
from tui.metrics.relief import find_relief
from tui.metrics.smoke import Smoke, keep, smoke
from tui.observe import Observer, Snapshot
from tui.presets import Preset, PresetProblem, find_preset, load_presets
from tui.presets.proof import Standing
from tui.presets.watch import watch_presets
from tui.sglang.edit import diff_words
from tui.sglang.interpreter import find_interpreter
from tui.sglang.target import Target, ask_target, cached_target, recorded_target
from tui.sglang.words import nearest_inventory
from tui.units import GIB

if TYPE_CHECKING:
    from tui.launch.preset_saving import PresetDraft


class LocalCore:
    """This machine, or a simulated one.

    Args:
        context: where records are, and how GPUs are read.
        adopts: give servers whose keeper died a new one, on sight.
        observer: who looks; None: its own.
    """

    def __init__(self, context: Context, *, adopts: bool = False, observer: Observer | None = None) -> None:
        self._context = context
        self._observer = observer or Observer(context.places, context.reader, live_wait_s=0.0)
        self._budgets = Budgets(context.places, context.settings)
        self._relauncher = Relauncher(context.places, context.settings, context.reader)
        self._explanations = Explanations(context.places)
        self._attendant = Attendant(context.places) if adopts else None

    @property
    def grace_s(self) -> float:
        """How long a stop lets requests run."""
        return self._context.settings.grace_s

    def snapshot(self) -> Snapshot:
        """Look at the machine now."""
        snapshot = self._observer.observe()
        self.attend(snapshot)
        return snapshot

    def attend(self, snapshot: Snapshot) -> None:
        """Give servers whose keeper died a new one, where that is wanted; returns at once."""
        if self._attendant is not None:
            self._attendant.attend(f"{one.name}/{one.launch}" for one in snapshot.instances if one.is_unattended)

    def live_history(self, address: str) -> tuple[LiveMetrics, ...]:
        """What a server did in the last hour, as far as somebody looked."""
        return self._observer.history(address)

    def limit(self, address: str) -> Limit:
        """What limits a server now, by its last minute."""
        return self._observer.limit(address) or find_limit(())

    def relief(self, address: str, bound: Bound, gpus: GpuReading) -> tuple[FlagChange, ...]:
        """Changes that would relieve it, with their price; some tenths of a second's work.

        Raises:
            SgltuiError: nobody can plan for it; says why.
        """
        return find_relief(self._context.places, find_launch(self._context.places, address), gpus, bound)

    def engine(self) -> str:
        """The release and the interpreter that run servers, where no preset says otherwise."""
        places, settings = self._context.places, self._context.settings
        found = find_interpreter(None, settings.python, places.simulated, places.settings_file)
        return f"SGLang {found.sglang_version} of {found.python} runs them"

    def presets(self) -> tuple[tuple[Preset, ...], tuple[PresetProblem, ...]]:
        """The presets that can be read, and why the others can't."""
        found = load_presets(self._context.places)
        return found.presets, found.problems

    def standings(self, presets: Sequence[Preset]) -> Mapping[str, tuple[Standing, str]]:
        """How far each preset can be trusted on this machine, and why."""
        judge = Judge(self._context.places, self._context.settings, self._context.reader.read())
        return {preset.name: judge.judge(preset) for preset in presets}

    def watch_presets(self, stop: Event, changed: Callable[[], object]) -> None:
        """Call `changed` after each change of a preset until `stop` is set."""
        watch_presets(self._context.places, stop, changed)

    def plan(
        self, about: LaunchRequest | LaunchedServer | Adjusted, gpus: GpuReading, *, changes: bool = True
    ) -> MemoryBudget:
        """The memory budget of a launch; what was planned a moment ago isn't planned again."""
        if isinstance(about, LaunchedServer):
            return self._budgets.plan_launch(f"{about.name}/{about.launch}", gpus, about.pids)
        spec, own = self._edited(about), about.pids if isinstance(about, Adjusted) else frozenset[int]()
        visible = os.environ.get("CUDA_VISIBLE_DEVICES")
        budget = self._budgets.plan_spec(spec, gpus, visible, own, changes=changes)
        return structs.replace(budget, warnings=(*self._lint(spec), *budget.warnings))

    def gpu_choices(self, about: Editable, gpus: GpuReading) -> tuple[JudgedChoice, ...]:
        """The GPUs that a launch could be given, each with what the plan says."""
        spec = self._edited(replace(about, gpus=None))
        release, _ = choose_release(spec, self._context.settings, self._context.places)
        flags = read_flags(spec, release)
        choices = find_choices(gpus, count_gpus(spec, release), int(flags.get("tp-size") or 1))

        def plan(choice: GpuChoice) -> MemoryBudget:
            edit = about.edit if choice.tensor is None else about.edit.setting("tp-size", str(choice.tensor))
            return self.plan(replace(about, gpus=choice.typed, edit=edit), gpus, changes=False)

        return judge_choices(choices, plan)

    def _edited(self, about: Editable) -> LaunchSpec:
        if isinstance(about, Adjusted):
            return self._relauncher.adjust(self._base(about), about.edit, about.gpus)
        return self._spec(about)

    def _lint(self, spec: LaunchSpec) -> Iterator[str]:
        """What SGLang would refuse of its flags, or ignore."""
        checked = check_spec(spec, self._target(spec, ask=False), model=self._budgets.read(spec.model))
        for finding in checked.findings:
            if finding.severity is not Severity.NOTE:
                refused = "SGLang would refuse it: " if finding.severity is Severity.ERROR else ""
                yield f"{refused}{finding.what}; {finding.remedy}"

    def sheet(self, about: Editable, *, ask: bool) -> FlagSheet:
        """The flags of the launch or the preset that it starts from."""
        if isinstance(about, Adjusted):
            base = self._base(about)
            spec, words, model = spec_of(base.launch), words_of(base.launch), base.launch.model
            gpus = ",".join(str(gpu.index) for gpu in base.launch.gpus)
        else:
            spec = self._preset_spec(about)
            words, model, gpus = typed_words(spec), spec.model, ",".join(map(str, spec.gpus or ()))
        target = self._target(spec, ask=ask)
        # Of a release without recorded flags its neighbours' are known; one of them is enough to edit with.
        inventory = target.inventories[0] if target.own else nearest_inventory(target.release.text)
        return FlagSheet(target.release.text, model, words, inventory, gpus, is_own=target.own)

    def _target(self, spec: LaunchSpec, *, ask: bool) -> Target:
        places, settings = self._context.places, self._context.settings
        try:
            found = find_interpreter(spec.engine.python, settings.python, places.simulated, places.settings_file)
        except SgltuiError:
            return recorded_target(choose_release(spec, settings, places)[0])
        return ask_target(found, places.flag_cache) if ask else cached_target(found, places.flag_cache)

    def last_worked(self, name: str) -> Worked:
        """The newest earlier launch that became ready."""
        worked = last_that_worked(self._context.places, name)
        if worked is None:
            raise RefusedError(f"no earlier launch of {name} became ready", "R changes its flags instead")
        newest = find_launch(self._context.places, name)
        inventory = nearest_inventory(worked.launch.sglang_version)
        difference = diff_words(words_of(newest.launch), words_of(worked.launch), inventory)
        return Worked(Adjusted(name, worked.launch.launch), difference)

    def draft_preset(self, address: str, name: str) -> PresetDraft:
        """What saving a launch as a preset would write."""
        from tui.launch.preset_saving import draft_preset  # noqa: PLC0415 - only who asks for it pays for it

        return draft_preset(self._context.places, address, name, self._context.reader.read())

    def save_preset(self, draft: PresetDraft) -> Path | None:
        """Write it; the earlier version is kept, and its path returned."""
        from tui.launch.preset_saving import save_preset  # noqa: PLC0415 - as above

        return save_preset(self._context.places, draft)

    def relaunch(self, about: Adjusted) -> str:
        """Stop what runs under the name, wait until its memory is back, start the new one."""
        settings = self._context.settings
        draft = self._relauncher.draft(self._base(about), about.edit, about.gpus)
        # Forced: the screen has shown the plan, and the person said yes to it.
        return self._relauncher.relaunch(
            draft, StopRequest(settings.grace_s, settings.release_wait_s, kill=False), force=True
        )

    def explain(self, about: LaunchedServer, gpus: GpuReading) -> Explanation:
        """What is the matter with a launch, as far as its log was read."""
        return self._explanations.explain(f"{about.name}/{about.launch}", gpus)

    def report(self, about: LaunchedServer, gpus: GpuReading) -> str:
        """The Markdown report of a launch."""
        return self._explanations.report(f"{about.name}/{about.launch}", gpus)

    def attempts_at(self, name: str) -> tuple[Attempt, ...]:
        """The attempts at one server, oldest first."""
        return self._explanations.history(name)

    def launch(self, request: LaunchRequest) -> str:
        """Start a server and return `NAME/LAUNCH`."""
        context = self._context
        # Forced: the form has shown the plan, and the person said yes to it.
        return Launcher(context.places, context.settings, context.reader).launch(self._spec(request), force=True)

    def smoke(self, address: str) -> Smoke:
        """Send a server one small request; the result is kept beside its launch."""
        from tui.metrics.ready import find_ready  # noqa: PLC0415 - only who asks for it pays for it

        recorded = find_launch(self._context.places, address)
        result = smoke(find_ready(recorded).endpoint)
        try:
            keep(recorded.files, result)
        except OSError as error:
            raise SgltuiError(f"{recorded.files.smoke} can't be written: {error.strerror}") from error
        return result

    def stop(self, name: str, *, kill: bool) -> StopOutcome:
        """Stop a server and wait until it is gone and its memory is back."""
        settings = self._context.settings
        request = StopRequest(settings.grace_s, settings.release_wait_s, kill)
        report = stop_launch(self._context.places, name, request)
        return StopOutcome(
            name=name,
            survivors=report.survivors,
            released=report.released,
            memory_before_bytes=_bytes(report.memory_before_gib),
            memory_after_bytes=_bytes(report.memory_after_gib),
            seconds=report.seconds,
        )

    def _base(self, about: Adjusted) -> Recorded:
        return find_launch(self._context.places, f"{about.name}/{about.launch}")

    def _preset_spec(self, request: LaunchRequest) -> LaunchSpec:
        spec = spec_from_preset(find_preset(self._context.places, request.preset))
        return spec.changed(name=request.name, gpus=request.gpus, port=request.port)

    def _spec(self, request: LaunchRequest) -> LaunchSpec:
        spec = self._preset_spec(request)
        if not request.edit:
            return spec
        edited = edit_spec(spec, request.edit, nearest_inventory(self._release_of(spec)))
        return edited.changed(gpus=request.gpus)  # an edit of the number of ranks lets only the preset's own GPUs go

    def _release_of(self, spec: LaunchSpec) -> str:
        release, _ = choose_release(spec, self._context.settings, self._context.places)
        return release.text

    def close(self) -> None:
        """Let go of the GPU driver; servers go on running."""
        self._context.reader.close()


def _bytes(size_gib: float | None) -> int | None:
    return None if size_gib is None else round(size_gib * GIB)
