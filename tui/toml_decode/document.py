"""A TOML file as a value of a `msgspec.Struct`: `read_toml(path).decode(Schema)`.

What a field may be is described once, in its `msgspec.Meta(description=...)`. Keys without a field are refused.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar, get_args

import msgspec
from msgspec import Struct
from msgspec.structs import FieldInfo

from tui.toml_decode.lines import find_line
from tui.toml_decode.reading import TomlError, parse, read_text
from tui.toml_decode.words import KeyPath, describe_value, did_you_mean, name_key

S = TypeVar("S", bound=msgspec.Struct)
Schema = type[msgspec.Struct]

_WHERE = re.compile(r" - at `\$(.*)`$")
_STEP = re.compile(r"\.(\w+)|\[(\d+)\]")


class TomlDocument(Struct, frozen=True):
    """A file that is valid TOML. Its `text` is kept to find lines in."""

    path: Path
    text: str
    values: Mapping[str, Any]

    def error(self, keys: KeyPath, what: str, hint: str = "") -> TomlError:
        """An error at the line where `keys`, or the table around it, is written."""
        names = tuple(key for key in keys if isinstance(key, str))
        return TomlError(self.path, find_line(self.text, names), what, hint)

    def decode(self, schema: type[S]) -> S:
        """All values as a `schema`.

        Raises:
            TomlError: an unknown, missing or wrong key.
        """
        self._check_keys(schema, self.values, ())
        try:
            return msgspec.convert(self.values, schema)
        except msgspec.ValidationError as error:
            raise self._wrong_value(schema, str(error)) from None

    def _check_keys(self, schema: Schema, values: Mapping[str, Any], at: KeyPath) -> None:
        fields = _fields(schema)
        for key in values:
            if key not in fields:
                what = f"keys of [{name_key(at)}]" if at else "keys and tables"
                raise self.error((*at, key), f"unknown key {name_key((*at, key))}", did_you_mean(key, fields, what))
        for name, field in fields.items():
            if field.required and name not in values:
                raise self._missing(name, field, at)
            table = _struct_in(field.type)
            if table is not None and isinstance(values.get(name), dict):
                self._check_keys(table, values[name], (*at, name))

    def _missing(self, name: str, field: FieldInfo, at: KeyPath) -> TomlError:
        strayed = () if at else (table for table, inner in self.values.items() if name in _as_table(inner))
        for table in strayed:  # TOML's trap: after a [heading], every key belongs to that table
            return self.error(
                (table, name),
                f"{name} is missing: here it belongs to [{name_key((table,))}]",
                f"move {name} to the top of the file, before the first [table]",
            )
        return self.error(at, f"{name_key((*at, name))} is missing", f"it must be {_allowed(field.type)}")

    def _wrong_value(self, schema: Schema, message: str) -> TomlError:
        where = _WHERE.search(message)
        keys = tuple(name or int(index) for name, index in _STEP.findall(where[1] if where else ""))
        found: Any = self.values
        hint: object = schema
        for key in keys:
            found = found[key]
            hint = _hint_of(hint, key)
        return self.error(keys, f"{name_key(keys)} is {describe_value(found)}, but must be {_allowed(hint)}")


def read_toml(path: Path) -> TomlDocument:
    """Read a TOML file.

    Raises:
        TomlError: it can't be read, is larger than 1 MiB, not UTF-8 or not TOML.
    """
    text = read_text(path)
    return TomlDocument(path, text, parse(path, text))


def _fields(schema: Schema) -> dict[str, FieldInfo]:
    return {field.encode_name: field for field in msgspec.structs.fields(schema)}


def _as_table(value: object) -> Collection[str]:
    return value if isinstance(value, dict) else ()


def _hint_of(hint: object, key: str | int) -> object:
    """The type of a field; an item of a list is described by its list."""
    table = _struct_in(hint)
    return _fields(table)[key].type if table is not None and isinstance(key, str) else hint


def _struct_in(hint: object) -> Schema | None:
    structs = (part for part in _parts(hint) if isinstance(part, type) and issubclass(part, msgspec.Struct))
    return next(structs, None)


def _allowed(hint: object) -> str:
    described = (part.description for part in _parts(hint) if isinstance(part, msgspec.Meta))
    return next((text for text in described if text), "a table")


def _parts(hint: object) -> Iterator[object]:
    yield hint
    for part in get_args(hint):
        yield from _parts(part)
