"""A preset as the TOML that a person would write: references inline, short lists in one line, defaults left out."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any

import msgspec
import tomli_w

from tui.presets.preset import Preset
from tui.sglang.references import Reference


def dump_preset(preset: Preset) -> str:
    """The text of a preset, which `load_preset` reads back to an equal one. Secrets stay references."""
    head = {"name": preset.name} | ({"description": preset.description} if preset.description else {})
    tables: dict[str, Mapping[str, Any]] = {
        "preset": head,
        "engine": _builtins(preset.engine),
        "flags": preset.flags,
        "env": preset.env,
        "launch": _builtins(preset.launch),
        "evidence": _builtins(preset.evidence),
    }
    parts = [_line("model", preset.model), *(_table(name, values) for name, values in tables.items() if values)]
    return _escape("\n".join(parts))


def _table(name: str, values: Mapping[str, Any]) -> str:
    return f"[{name}]\n" + "".join(_line(key, value) for key, value in values.items())


def _line(key: str, value: Any) -> str:
    return f"{_key(key)} = {_value(value)}\n"


def _value(value: Any) -> str:
    if isinstance(value, Reference):
        return f"{{ {value.kind} = {_value(value.target)} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    return tomli_w.dumps({"x": value}).removeprefix("x = ").removesuffix("\n")


def _key(key: str) -> str:
    return tomli_w.dumps({key: 0}).removesuffix(" = 0\n")


def _builtins(table: msgspec.Struct | None) -> dict[str, Any]:
    return msgspec.to_builtins(table, builtin_types=(dt.date,)) if table is not None else {}


def _escape(text: str) -> str:
    """Write what could steer a terminal as TOML escapes: it can only stand inside "quotes"."""
    return "".join(
        character if character.isprintable() or character == "\n" else f"\\U{ord(character):08X}" for character in text
    )
