"""From a file to a `Preset`. Flags and variables have free names, so their rules are here and not in a schema."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from tui.keeper.secret_words import is_secret_flag
from tui.presets.preset import Engine, Evidence, LaunchDefaults, Model, Name, Preset, Text
from tui.presets.secrets import is_secret_variable
from tui.sglang.references import REFERENCE_KINDS, FlagValue, Reference
from tui.toml_decode import TomlDocument, TomlError, describe_type, read_toml

_FLAG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_VARIABLE_RULE = "use letters, digits and `_`"

# What has its own place in a preset: given twice, one of the two would win silently.
_FLAGS_ELSEWHERE = {
    "model": 'write model = "…" at the top of the file',
    "model-path": 'write model = "…" at the top of the file',
    "host": "write host in [launch]",
    "port": "write port in [launch]",
}
_VARIABLES_ELSEWHERE = {"CUDA_VISIBLE_DEVICES": "write gpus = [0, 1] in [launch]"}
_Plain = str | int | float | bool | Annotated[list[str | int | float], Meta(min_length=1)]
_REFERENCES = '{ env = "NAME" }, { file = "/path" } or { command = "program words" }'
# The same in other words: { from = "env" }, { from = "file", path = … }, { from = "command", argv = [ … ] }.
_FROM = {"env": "name", "file": "path", "command": "argv"}


class _Head(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    name: Name | None = None
    description: Text = ""


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    model: Model
    preset: _Head = msgspec.field(default_factory=_Head)
    engine: Engine = msgspec.field(default_factory=Engine)
    flags: Annotated[dict[str, Any], Meta(description="a table")] = msgspec.field(default_factory=dict)
    env: Annotated[dict[str, Any], Meta(description="a table")] = msgspec.field(default_factory=dict)
    launch: LaunchDefaults = msgspec.field(default_factory=LaunchDefaults)
    evidence: Evidence | None = None


def load_preset(path: Path) -> Preset:
    """Read a preset.

    Raises:
        TomlError: it can't be used; says where and why, and repeats no secret.
    """
    document = read_toml(path)
    file = document.decode(_File)
    return Preset(
        name=_read_name(document, file.preset.name),
        model=file.model,
        description=file.preset.description,
        engine=file.engine,
        flags={name: _read_flag(document, name, value) for name, value in file.flags.items()},
        env={name: _read_variable(document, name, value) for name, value in file.env.items()},
        launch=file.launch,
        evidence=file.evidence,
        path=path,
    )


def _read_name(document: TomlDocument, name: str | None) -> str:
    """The file's own name, which is what a preset is asked for by."""
    stem = document.path.stem
    if name is not None and name != stem:
        raise document.error(
            ("preset", "name"),
            f"preset.name is {name!r}, but the file is named {stem!r}",
            f"rename the file to {name}.toml, or leave out the name",
        )
    try:
        return msgspec.convert(stem, Name)
    except msgspec.ValidationError:
        allowed = "letters, digits, `.`, `_` and `-`, at most 64"
        raise TomlError(document.path, None, f"{stem!r} can't be a preset's name", f"use {allowed}") from None


def _read_flag(document: TomlDocument, name: str, value: Any) -> FlagValue:
    at = ("flags", name)
    if name.startswith("-"):
        raise document.error(at, f"flag {name!r} has dashes in front", f"write it without: {name.lstrip('-')!r}")
    if not _FLAG.fullmatch(name):
        spelled = name.lower().replace("_", "-")
        hint = f"SGLang spells it {spelled}" if _FLAG.fullmatch(spelled) else "use small letters, digits and dashes"
        raise document.error(at, f"{name!r} can't be a flag", hint)
    if name in _FLAGS_ELSEWHERE:
        raise document.error(at, f"{name} doesn't belong in [flags]", _FLAGS_ELSEWHERE[name])
    if isinstance(value, dict):
        return _read_reference(document, at, value)
    if is_secret_flag(f"--{name}"):
        raise _literal_secret(document, at)
    return _read_plain(document, at, value)


def _read_plain(document: TomlDocument, at: tuple[str, str], value: Any) -> FlagValue:
    if any(isinstance(item, str) and "\0" in item for item in (value if isinstance(value, list) else [value])):
        raise _nul(document, at)
    try:
        plain: FlagValue = msgspec.convert(value, _Plain)
    except msgspec.ValidationError:
        found = "an empty list" if value == [] else describe_type(value)
        allowed = f"a text, a number, true or false, a list of texts and numbers, or {_REFERENCES}"
        raise document.error(at, f"{'.'.join(at)} is {found}, but must be {allowed}") from None
    return plain


def _read_variable(document: TomlDocument, name: str, value: Any) -> str | Reference:
    at = ("env", name)
    if not _VARIABLE.fullmatch(name):
        raise document.error(at, f"{name!r} can't be an environment variable", _VARIABLE_RULE)
    if name in _VARIABLES_ELSEWHERE:
        raise document.error(at, f"{name} doesn't belong in [env]", _VARIABLES_ELSEWHERE[name])
    if isinstance(value, dict):
        return _read_reference(document, at, value)
    if is_secret_variable(name):
        raise _literal_secret(document, at)
    if not isinstance(value, str):
        allowed = f'a text in "quotes" or {_REFERENCES}'
        raise document.error(at, f"{'.'.join(at)} is {describe_type(value)}, but must be {allowed}")
    if "\0" in value:
        raise _nul(document, at)
    return value


def _read_reference(document: TomlDocument, at: tuple[str, str], given: dict[str, Any]) -> Reference:
    table = _shorten(at, given)
    kind = next((kind for kind in REFERENCE_KINDS if kind in table), None)
    target = table.get(kind) if kind is not None else None
    if kind is None or len(table) != 1 or not isinstance(target, str) or not target.strip() or "\0" in target:
        raise document.error(at, f"{'.'.join(at)} is a table, but not one of {_REFERENCES}")
    if kind == "env" and not _VARIABLE.fullmatch(target):
        raise document.error(at, f"{target!r} can't be an environment variable", _VARIABLE_RULE)
    if kind == "file" and not target.startswith(("/", "~/")):
        raise document.error(at, f"the file of {'.'.join(at)} is {target!r}", "write its whole path, or ~/…")
    if kind == "command":
        _check_command(document, at, target)
    return Reference(kind, target)


def _shorten(at: tuple[str, str], table: dict[str, Any]) -> dict[str, Any]:
    """`{ from = "command", argv = ["pass", "show"] }` as `{ command = "pass show" }`; others as they are."""
    kind = str(table.get("from"))
    key = _FROM.get(kind)
    if key is None or not set(table) <= {"from", key}:
        return table
    target = table.get(key, at[1] if kind == "env" and at[0] == "env" else None)
    if kind == "command":
        words = target if isinstance(target, list) and all(isinstance(word, str) for word in target) else []
        target = shlex.join(words)
    return {kind: target}


def _check_command(document: TomlDocument, at: tuple[str, str], command: str) -> None:
    try:
        shlex.split(command)
    except ValueError as error:
        raise document.error(at, f"the command of {'.'.join(at)} can't be split into words: {error}") from error


def _literal_secret(document: TomlDocument, at: tuple[str, str]) -> TomlError:
    variable = at[1].upper().replace("-", "_")
    variable = variable if at[0] == "env" else f"SGLANG_{variable}"
    return document.error(
        at,
        f"{'.'.join(at)} looks like a secret, and secrets are not kept in presets",
        f'refer to it: {at[1]} = {{ env = "{variable}" }}, or file = "/path", or command = "…"',
    )


def _nul(document: TomlDocument, at: tuple[str, str]) -> TomlError:
    return document.error(at, f"{'.'.join(at)} holds a NUL character, which no program can be given")
