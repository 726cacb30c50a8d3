"""Launching a server again, with the same flags or adjusted ones: all is checked before the old one goes."""

from __future__ import annotations

import os
import time

from msgspec import Struct
from msgspec.structs import replace

from tui.budget.types import MemoryBudget, Stage, Verdict
from tui.errors import ExitCode, RefusedError, SgltuiError
from tui.gpu import GpuReader
from tui.keeper.stop import StopRequest
from tui.launch import guard
from tui.launch.again import edit_spec, spec_of, with_secrets, words_of
from tui.launch.budgets import Budgets
from tui.launch.fit import DoesNotFitError, Warn
from tui.launch.ownership import check_ours
from tui.launch.records import Recorded, StopRecord, read_newest
from tui.launch.spec import LaunchSpec, parse_gpus
from tui.launch.start import Launcher
from tui.launch.stop import stop_launch
from tui.paths import Places
from tui.settings import Settings
from tui.sglang.command import redact
from tui.sglang.edit import DiffLine, FlagEdit, diff_words
from tui.sglang.interpreter import Interpreter, find_interpreter, server_argv
from tui.sglang.words import nearest_inventory

_FAREWELL_S = 10.0
_STEP_S = 0.02


class NotReleasedError(SgltuiError):
    """The old server is gone, and what it held isn't back."""

    exit_code = ExitCode.NOT_CLEAN


class Draft(Struct, frozen=True):
    """A launch as it will be made, and what it comes from.

    Attributes:
        base: the launch whose flags it starts from.
        spec: with its secrets by reference.
        release: of the interpreter that will run it.
        command: what would be run, without secrets.
        difference: from the newest launch of the name, flag by flag, without secrets.
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

    def interpreter_of(self, base: Recorded) -> Interpreter:
        """What would run a launch now.

        Raises:
            SgltuiError: it can't be used.
        """
        python, settings, places = spec_of(base.launch).engine.python, self._settings, self._places
        return find_interpreter(python, settings.python, places.simulated, places.settings_file)

    def release_of(self, base: Recorded) -> str:
        """The release that would run a launch now.

        Raises:
            SgltuiError: its interpreter can't be used.
        """
        return self.interpreter_of(base).sglang_version

    def adjust(self, base: Recorded, edit: FlagEdit, gpus: str | None = None) -> LaunchSpec:
        """A launch with some flags changed; its secrets stand in it as `***`.

        Raises:
            SgltuiError: a flag is wrong for the release, or its interpreter can't be used.
        """
        edited = edit_spec(spec_of(base.launch), edit, nearest_inventory(self.release_of(base)))
        return edited if gpus is None else replace(edited, gpus=parse_gpus(gpus))

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
        found = self.interpreter_of(base)
        adjusted = self.adjust(base, edit, gpus)
        command = tuple(redact(server_argv(found, adjusted.engine.entry, adjusted.words)))
        newest = read_newest(self._places, base.launch.name) or base
        difference = diff_words(words_of(newest.launch), adjusted.words, nearest_inventory(found.sglang_version))
        return Draft(base, with_secrets(adjusted, base.launch), found.sglang_version, command, difference)

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
        launcher.check(prepared, running, force=force)
        self._check_fit(draft, force=force)
        if running is not None:
            _require_released(running, stop_launch(self._places, running.address, stop))
            _wait_for_keeper(running)
        return launcher.start(prepared, force=True, checked=True)

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
