"""Launching a server again, with the same flags or adjusted ones: all is checked before the old one goes."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tui.budget.types import MemoryBudget, Stage, Verdict
from tui.errors import ExitCode, RefusedError, SgltuiError
from tui.gpu import GpuReader
from tui.keeper.stop import StopRequest
from tui.launch import guard
from tui.launch.again import edit_spec, spec_of, typed_words, with_secrets, words_of
from tui.launch.budgets import Budgets
from tui.launch.fit import DoesNotFitError, Warn
from tui.launch.ownership import check_ours
from tui.launch.records import Recorded, StopRecord
from tui.launch.spec import LaunchSpec, parse_gpus
from tui.launch.start import Launcher
from tui.launch.stop import stop_launch
from tui.paths import Places
from tui.settings import Settings
from tui.sglang.command import redact
from tui.sglang.edit import DiffLine, FlagEdit, diff_words
from tui.sglang.interpreter import find_interpreter, server_argv
from tui.sglang.references import HIDDEN, Reference
from tui.sglang.words import nearest_inventory

_FAREWELL_S = 10.0
_STEP_S = 0.02


class NotReleasedError(SgltuiError):
    """The old server is gone, and what it held isn't back."""

    exit_code = ExitCode.NOT_CLEAN


@dataclass(frozen=True, slots=True)
class Draft:
    """A launch as it will be made, and what it comes from.

    Attributes:
        base: the launch whose flags it starts from.
        spec: with its secrets by reference.
        release: of the interpreter that will run it.
        command: what would be run, without secrets.
        difference: flag by flag, without secrets.
    """

    base: Recorded
    spec: LaunchSpec
    release: str
    command: tuple[str, ...]
    difference: tuple[DiffLine, ...]

    @property
    def changes(self) -> tuple[DiffLine, ...]:
        """What goes and what comes."""
        return tuple(line for line in self.difference if line.sign != " ")


class Relauncher:
    """Relaunches servers of this machine.

    Args:
        places: whose records.
        settings: the user's defaults.
        reader: the machine's GPUs.
        warn: is told what a person should know, and what doesn't stop a launch.
    """

    def __init__(self, places: Places, settings: Settings, reader: GpuReader, warn: Warn = lambda _: None) -> None:
        self._places = places
        self._settings = settings
        self._reader = reader
        self._warn = warn

    def draft(self, base: Recorded, edit: FlagEdit, gpus: str | None = None) -> Draft:
        """What would be launched in the place of a launch.

        Args:
            base: whose flags it starts from.
            edit: what to change.
            gpus: indices or uuids, instead of those it was given.

        Raises:
            SgltuiError: a flag is wrong for the release, a secret isn't on record, or it isn't ours.
        """
        check_ours(base, "relaunch")
        recorded = spec_of(base.launch)
        engine, settings = recorded.engine, self._settings
        found = find_interpreter(engine.python, settings.python, self._places.simulated, self._places.settings_file)
        inventory = nearest_inventory(found.sglang_version)
        edited = with_secrets(edit_spec(recorded, edit, inventory), base.launch)
        spec = edited if gpus is None else replace(edited, gpus=parse_gpus(gpus))
        after = (*_referenced(spec), *typed_words(spec))
        command = redact(server_argv(found, engine.entry, after))
        return Draft(
            base, spec, found.sglang_version, tuple(command), diff_words(words_of(base.launch), after, inventory)
        )

    def relaunch(self, draft: Draft, stop: StopRequest, *, force: bool = False) -> str:
        """Stop what runs under the name, wait for its memory, and start the draft; its address.

        Nothing is stopped where the draft can't be launched.

        Raises:
            DoesNotFitError: the plan says so, and it isn't forced.
            NotReleasedError: the old one's memory or port didn't come back.
            SgltuiError: it can't be stopped or started.
        """
        running = self._running(draft.spec.name)
        launcher = Launcher(self._places, self._settings, self._reader, self._warn)
        if running is not None:
            check_ours(running, "relaunch")
        prepared = launcher.prepare(draft.spec)
        launcher.check_room(prepared, running)
        self._check_fit(draft, force=force)
        if running is not None:
            _require_released(running, stop_launch(self._places, running.address, stop))
            _wait_for_keeper(running)
        return launcher.start(prepared, force=True)

    def plan(self, draft: Draft) -> MemoryBudget:
        """What it would take, with the memory of what runs under its name free again.

        Raises:
            SgltuiError: nobody can tell.
        """
        running = self._running(draft.spec.name)
        own = frozenset(member.pid for member in running.living_members()) if running is not None else frozenset()
        budgets = Budgets(self._places, self._settings)
        return budgets.plan_spec(draft.spec, self._reader.read(), os.environ.get("CUDA_VISIBLE_DEVICES"), own=own)

    def _running(self, name: str) -> Recorded | None:
        return next((one for one in guard.running(self._places) if one.launch.name == name), None)

    def _check_fit(self, draft: Draft, *, force: bool) -> None:
        try:
            budget = self.plan(draft)
        except SgltuiError:  # a model that isn't here yet, or that nobody can compute: no reason to refuse
            return
        if budget.verdict is not Verdict.EXCEEDS or force:
            return
        remedy = "change more, or relaunch all the same with --force"
        if budget.stage_of_failure is Stage.ARGS:
            raise RefusedError(f"SGLang would refuse its arguments: {budget.reason}; nothing was stopped", remedy)
        raise DoesNotFitError(f"it won't fit: {budget.reason}; nothing was stopped", remedy)


def _referenced(spec: LaunchSpec) -> Sequence[str]:
    """References as their placeholders, so that they compare equal to the record's."""
    names = [name for name, value in spec.flags.items() if isinstance(value, Reference)]
    return [word for name in names for word in (f"--{name}", HIDDEN)]


def _wait_for_keeper(running: Recorded) -> None:
    """It holds its server's port until it has gone itself, a moment after its report."""
    keeper, deadline = running.state.keeper, time.monotonic() + _FAREWELL_S
    while keeper is not None and keeper.is_alive() and time.monotonic() < deadline:
        time.sleep(_STEP_S)


def _require_released(running: Recorded, report: StopRecord) -> None:
    what = []
    if report.survivors:
        what.append(f"pid {', '.join(map(str, report.survivors))} survived")
    if report.released is False:
        what.append(f"{report.memory_after_gib} GiB of GPU memory haven't come back")
    if not report.port_free:
        what.append(f"port {running.launch.port} is still taken")
    if what:
        raise NotReleasedError(
            f"{running.address} was stopped, but {', '.join(what)}: nothing was launched",
            f"see `sgltui gpus`, then `sgltui relaunch {running.launch.name}` again",
        )
