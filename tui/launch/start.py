"""Starting a launch: check, record, and hand it to a keeper of its own."""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct

from tui.errors import RefusedError, UsageError
from tui.gpu import GpuReader, GpuReading, GpuSnapshot
from tui.hiding import HIDDEN
from tui.keeper.steps import step
from tui.launch import guard
from tui.launch.directory import create_launch, launching, next_launch
from tui.launch.fit import Warn, check_fit
from tui.launch.keeping import gpu_environment, hand_over
from tui.launch.ports import Promise, choose_port
from tui.launch.prune import prune
from tui.launch.records import GivenGpu, LaunchRecord, LogLimitsRecord, Machine, Recorded, ReferenceRecord
from tui.launch.spec import LaunchSpec
from tui.paths import Places
from tui.presets.secrets import powerful_variables
from tui.settings import Settings
from tui.sglang.command import Command, build_arguments, make_command, split_flag_words
from tui.sglang.config_file import merge_config
from tui.sglang.interpreter import Interpreter, find_interpreter, server_argv
from tui.sglang.references import Reference, ResolvedValue, Secret, resolve_environment, resolve_flags
from tui.sglang.versions import parse_release
from tui.sglang.words import Words, nearest_inventory
from tui.units import MIB

_DAY_S = 24 * 60 * 60
DEFAULT_HOST = "127.0.0.1"  # SGLang's own default, 0.5.6 to 0.5.23


class Prepared(Struct, frozen=True):
    """A launch with its secrets and its typed words read; what is left to decide depends on the machine."""

    spec: LaunchSpec
    interpreter: Interpreter
    model: str
    flags: Mapping[str, ResolvedValue]
    words: tuple[str, ...]
    host: str
    port: int | None
    environment: Mapping[str, str]

    def command(self, port: int) -> Command:
        """The server's command line when it listens on `port`."""
        return make_command(server_argv(self.interpreter, self.spec.engine.entry, self._arguments(port)))

    def parsed_words(self) -> Sequence[str]:
        """What SGLang parses: with its config file, where that can be used."""
        release = parse_release(self.interpreter.sglang_version)
        words = self._arguments(0)
        try:
            return merge_config(words, release, nearest_inventory(self.interpreter.sglang_version)).words
        except UsageError:
            return words  # told by the check of the flags

    def _arguments(self, port: int) -> list[str]:
        inventory = nearest_inventory(self.interpreter.sglang_version)
        return [*build_arguments(self.flags, self.model, self.host, port, (inventory,)), *self.words]


class Launcher:
    """Launches servers on this machine.

    Args:
        places: where records go.
        settings: the user's defaults.
        reader: the machine's GPUs.
        warn: is told what a person should know, and what doesn't stop a launch.
    """

    def __init__(self, places: Places, settings: Settings, reader: GpuReader, warn: Warn = lambda _: None) -> None:
        self._places = places
        self._settings = settings
        self._reader = reader
        self._warn = warn

    def launch(self, spec: LaunchSpec, *, force: bool = False) -> str:
        """Start a server and return its address `NAME/LAUNCH`; its keeper has it from here on.

        Args:
            spec: what to launch.
            force: also when it doesn't fit.

        Raises:
            SgltuiError: refused; nothing was started.
        """
        return self.start(self.prepare(spec), force=force)

    def prepare(self, spec: LaunchSpec) -> Prepared:
        """Check and read all of a launch that doesn't depend on what else runs: its secrets are resolved here.

        Raises:
            SgltuiError: refused; nothing was started.
        """
        guard.check_space(self._places.instances)
        request = self._read(spec)
        guard.check_model(request.model, spec.cwd)
        return request

    def check(self, request: Prepared, leaving: Recorded | None, *, force: bool = False) -> None:
        """See that its port and its GPUs can be had once another launch has left them, and that SGLang takes its flags.

        Raises:
            RefusedError: they can't, or it doesn't and isn't forced.
        """
        from tui.launch.flag_check import check_flags, settle_target  # noqa: PLC0415 - as in `start`

        ours = [one for one in guard.running(self._places) if leaving is None or one.address != leaving.address]
        inherited = leaving is not None and request.port == leaving.launch.port
        if not inherited:
            self._choose_port(request, ours).close()
        gpus = self._choose_gpus(request, self._reader.read(), ours)
        target = settle_target(request.spec, request.interpreter, self._places, self._warn)
        check_flags(request.spec, target, gpus, self._places.hub, self._warn, force=force)

    def start(self, request: Prepared, *, force: bool = False, checked: bool = False) -> str:
        """Start what was prepared and return its address; arguments and errors are those of `launch`.

        `checked`: its flags were checked already, and whoever asked was told.
        """
        # Only now: the rules take as long to import as the rest.
        from tui.launch.flag_check import check_flags, settle_target  # noqa: PLC0415 - see above

        reading = self._reader.read()  # before the lock: a driver may take its time
        target = settle_target(request.spec, request.interpreter, self._places, self._warn)
        with launching(self._places) as lock:
            guard.check_name(self._places, request.spec.name)
            ours = guard.running(self._places)
            promise = self._choose_port(request, ours)
            try:
                gpus = self._choose_gpus(request, reading, ours)
                if not checked:
                    check_flags(request.spec, target, gpus, self._places.hub, self._warn, force=force)
                version, hub = request.interpreter.sglang_version, self._places.hub
                check_fit(request.spec, version, gpus, reading, self._warn, force=force, hub=hub)
                return self._start(request, gpus, promise, lock)
            finally:
                promise.close()

    def _choose_port(self, request: Prepared, ours: Sequence[Recorded]) -> Promise:
        return choose_port(ours, request.host, request.port, self._settings.port, request.spec.port_hint)

    def _choose_gpus(self, request: Prepared, reading: GpuReading, ours: Sequence[Recorded]) -> tuple[GpuSnapshot, ...]:
        words = Words(request.parsed_words(), request.interpreter.sglang_version)
        promised = guard.promised_gpus(ours)
        visible = os.environ.get("CUDA_VISIBLE_DEVICES")
        return guard.choose_gpus(reading, request.spec.gpus, words.gpu_count(), visible=visible, promised=promised)

    def _start(self, request: Prepared, gpus: tuple[GpuSnapshot, ...], promise: Promise, lock: int) -> str:
        command = request.command(promise.port)
        record = self._record(request, command, gpus, promise.port)
        files = create_launch(self._places, record)
        step("launcher-recorded")
        environment = {**os.environ, **request.environment, **gpu_environment(gpu.index for gpu in gpus)}
        hand_over(files, command, record, environment, promise, lock=lock)
        prune(self._places, record.name, self._settings.keep_launches)
        return f"{record.name}/{record.launch}"

    def _read(self, spec: LaunchSpec) -> Prepared:
        interpreter = find_interpreter(
            spec.engine.python, self._settings.python, self._places.simulated, self._places.settings_file
        )
        for name in powerful_variables(spec.env):
            self._warn(
                f"the preset sets {name}, which decides what code the server runs: `sgltui preset show` shows it"
            )
        typed = split_flag_words(spec.words, nearest_inventory(interpreter.sglang_version))
        return Prepared(
            spec=spec,
            interpreter=interpreter,
            model=typed.model or spec.model,
            flags=resolve_flags(spec.flags),
            words=typed.rest,
            host=typed.host or spec.host or DEFAULT_HOST,
            port=typed.port or spec.port,
            environment=resolve_environment(spec.env),
        )

    def _record(self, request: Prepared, command: Command, gpus: tuple[GpuSnapshot, ...], port: int) -> LaunchRecord:
        simulated = self._places.simulated
        return LaunchRecord(
            name=request.spec.name,
            launch=next_launch(self._places, request.spec.name),
            created_at=datetime.now(UTC),
            argv=list(command.shown),
            model=request.model,
            host=request.host,
            port=port,
            port_chosen=request.port is None,
            gpus=[GivenGpu(gpu.index, gpu.uuid, gpu.name) for gpu in gpus],
            mark=uuid.uuid4().hex,
            machine=Machine.this(),
            cwd=request.spec.cwd or _current_folder(),
            log_limits=_log_limits(self._settings),
            env={name: _shown(value) for name, value in request.environment.items()},
            flag_references=_references(request.spec.flags),
            env_references=_references(request.spec.env),
            preset=request.spec.preset,
            python=str(request.interpreter.python),
            sglang_version=request.interpreter.sglang_version,
            simulated=str(simulated.resolve()) if simulated is not None else None,
            restart=request.spec.restart,
            group=request.spec.group,
            order=request.spec.order,
        )


def _references(values: Mapping[str, object]) -> dict[str, ReferenceRecord]:
    return {
        name: ReferenceRecord(value.kind, value.target)
        for name, value in values.items()
        if isinstance(value, Reference)
    }


def _log_limits(settings: Settings) -> LogLimitsRecord:
    return LogLimitsRecord(
        log_bytes=settings.log_limit_mib * MIB,
        total_bytes=settings.log_total_mib * MIB,
        age_s=settings.log_days * _DAY_S,
    )


def _current_folder() -> str:
    try:
        return str(Path.cwd())
    except FileNotFoundError as error:
        raise RefusedError("the current folder was deleted", "change to another one first") from error


def _shown(value: str) -> str:
    return HIDDEN if isinstance(value, Secret) else value
