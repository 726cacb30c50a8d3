"""Secrets by reference: a preset names a variable, a file or a command, and the value is read at launch."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, Self, TypeAlias, get_args

from msgspec import Struct

from tui.errors import RefusedError
from tui.hiding import HIDDEN
from tui.sglang.ask import NO_ANSWER, ask, explain_silence

ReferenceKind = Literal["env", "file", "command"]
REFERENCE_KINDS: tuple[ReferenceKind, ...] = get_args(ReferenceKind)

_MAX_BYTES = 64 * 1024


class Reference(Struct, frozen=True):
    """Where a value comes from.

    Attributes:
        kind: `env`, `file` or `command`.
        target: the variable's name, the file's path (absolute or from `~/`), or a command line (run without a shell).
    """

    kind: ReferenceKind
    target: str


class Secret(str):
    """A resolved value: text to hand to the server and never to show.

    Attributes:
        shown: what stands for it in records and on screens.
    """

    __slots__ = ("shown",)
    shown: str

    def __new__(cls, text: str, shown: str = HIDDEN) -> Self:
        """Text with its stand-in."""
        secret = super().__new__(cls, text)
        secret.shown = shown
        return secret

    def __repr__(self) -> str:
        return repr(self.shown)


Scalar: TypeAlias = str | int | float
FlagValue: TypeAlias = Scalar | bool | list[Scalar] | Reference
ResolvedValue: TypeAlias = Scalar | bool | list[Scalar]


def resolve_flags(flags: Mapping[str, FlagValue]) -> dict[str, ResolvedValue]:
    """Flags with the value of each reference, marked as `Secret`.

    Raises:
        RefusedError: a referenced value isn't there.
    """
    return {
        name: resolve(value, f"--{name}") if isinstance(value, Reference) else value for name, value in flags.items()
    }


def resolve_environment(variables: Mapping[str, str | Reference]) -> dict[str, str]:
    """Environment variables with the value of each reference, marked as `Secret`.

    Raises:
        RefusedError: a referenced value isn't there.
    """
    return {name: resolve(value, name) if isinstance(value, Reference) else value for name, value in variables.items()}


def resolve(reference: Reference, key: str) -> Secret:
    """The value that a reference stands for; `key` is what asks for it, for messages.

    Raises:
        RefusedError: it isn't there, is empty, or can't be read.
    """
    readers = {"env": _read_variable, "file": _read_file, "command": _read_command}
    value = readers[reference.kind](reference.target, key)
    if not value or "\0" in value:
        fault = "holds a NUL character" if value else "is empty"
        raise RefusedError(f"{key} comes from the {reference.kind} {reference.target!r}, whose value {fault}")
    return Secret(value)


def expand_home(path: str) -> str:
    """A path with `~/` in front made absolute, as a shell would; anything else as it is."""
    return str(Path.home() / path.removeprefix("~/")) if path.startswith("~/") else path


def _read_variable(name: str, key: str) -> str:
    value = os.environ.get(name)
    if value is None:
        raise RefusedError(
            f"{key} comes from the environment variable {name}, which isn't set",
            f"set it before starting sgltui: export {name}=…",
        )
    return value.strip()


def _read_file(target: str, key: str) -> str:
    path = Path(expand_home(target))
    try:
        if not path.is_file():  # also a FIFO, which would block
            raise RefusedError(f"{key} comes from the file {target!r}, which isn't there")
        with path.open("rb") as file:
            data = file.read(_MAX_BYTES + 1)
    except OSError as error:
        raise RefusedError(f"{key} comes from the file {target!r}, which can't be read: {error.strerror}") from error
    if len(data) > _MAX_BYTES:
        raise RefusedError(f"{key} comes from the file {target!r}, which is too large for one value (over 64 KiB)")
    return os.fsdecode(data).strip()


def _read_command(command: str, key: str) -> str:
    try:
        output = ask(shlex.split(command))
    except NO_ANSWER as error:
        raise RefusedError(
            f"{key} comes from the command {command!r}, which {explain_silence(error)}", "run it by hand to see why"
        ) from None  # a traceback would hold what it has printed so far
    return output.partition("\n")[0].strip()
