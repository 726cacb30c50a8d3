"""Putting together again what a server was started with, when neither its keeper nor itself can be asked any more."""

from __future__ import annotations

import os
from itertools import pairwise

from tui.errors import RefusedError
from tui.hiding import HIDDEN
from tui.keeper.members import MARK_VARIABLE
from tui.launch.again import reference_of
from tui.launch.keeping import gpu_environment
from tui.launch.records import LaunchRecord, ReferenceRecord
from tui.sglang.references import resolve


def recall(record: LaunchRecord) -> tuple[list[str], dict[str, str]]:
    """Its command line and environment: as recorded, in the environment of who asks, secrets read where they come from.

    Raises:
        SgltuiError: a secret can't be read again.
    """
    given = {
        name: _secret(record.env_references.get(name), name) if value == HIDDEN else value
        for name, value in record.env.items()
    }
    gpus = gpu_environment(gpu.index for gpu in record.gpus)
    words = [_word(record, before, word) for before, word in pairwise(["", *record.argv])]
    return words, {**os.environ, **given, **gpus, MARK_VARIABLE: record.mark}


def _word(record: LaunchRecord, before: str, word: str) -> str:
    """A word of the command line: the value behind a flag, or `--flag=value`."""
    name, equals, value = word.partition("=")
    if word == HIDDEN:
        return _secret(record.flag_references.get(before.removeprefix("--")), before)
    if equals and value == HIDDEN and name.startswith("--"):
        return f"{name}={_secret(record.flag_references.get(name.removeprefix('--')), name)}"
    return word


def _secret(known: ReferenceRecord | None, key: str) -> str:
    if known is None:
        raise RefusedError(f"the value of {key} went with its keeper: it was typed by hand")
    return str(resolve(reference_of(known, key), key))
