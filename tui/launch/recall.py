"""Putting together again what a server was started with, when neither its keeper nor itself can be asked any more."""

from __future__ import annotations

import os
from itertools import pairwise

from tui.errors import RefusedError
from tui.keeper.members import MARK_VARIABLE
from tui.launch.keeping import gpu_environment
from tui.launch.records import LaunchRecord
from tui.paths import Places
from tui.presets import Preset, find_preset
from tui.sglang.references import HIDDEN, Reference, resolve


def recall(places: Places, record: LaunchRecord) -> tuple[list[str], dict[str, str]]:
    """Its command line and environment: as recorded, in the environment of who asks, secrets read where they come from.

    Raises:
        SgltuiError: a secret can't be read again.
    """
    secrets = _Secrets(places, record)
    given = {name: secrets.variable(name) if value == HIDDEN else value for name, value in record.env.items()}
    gpus = gpu_environment(gpu.index for gpu in record.gpus)
    words = [secrets.word(before, word) for before, word in pairwise(["", *record.argv])]
    return words, {**os.environ, **given, **gpus, MARK_VARIABLE: record.mark}


class _Secrets:
    """What stands as `***` in a record, from the preset that it was launched by."""

    def __init__(self, places: Places, record: LaunchRecord) -> None:
        self._places = places
        self._name = record.preset
        self._preset: Preset | None = None

    def variable(self, name: str) -> str:
        """The value of an environment variable."""
        return self._resolve(self._read_preset(name).env.get(name), name)

    def word(self, before: str, word: str) -> str:
        """A word of the command line: the value behind a flag, or `--flag=value`."""
        name, equals, value = word.partition("=")
        if word == HIDDEN:
            return self._flag(before)
        return f"{name}={self._flag(name)}" if equals and value == HIDDEN and name.startswith("--") else word

    def _flag(self, option: str) -> str:
        return self._resolve(self._read_preset(option).flags.get(option.removeprefix("--")), option)

    def _read_preset(self, wanted: str) -> Preset:
        if self._name is None:
            raise RefusedError(f"the value of {wanted} went with its keeper")
        if self._preset is None:
            self._preset = find_preset(self._places, self._name)
        return self._preset

    def _resolve(self, value: object, name: str) -> str:
        if not isinstance(value, Reference):
            raise RefusedError(f"the value of {name} went with its keeper, and its preset {self._name!r} has none")
        return str(resolve(value, name))
