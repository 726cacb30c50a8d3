"""Docker compose files, and Kubernetes containers: the command and the environment of what starts a server."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tui.errors import UsageError
from tui.presets.importing.container_options import read_volume
from tui.presets.importing.remarks import Remarks, quote
from tui.presets.importing.words import Word

_LOOKS = re.compile(r"^\s*(?:- )?(?:services|image|command|entrypoint|args)\s*:", re.MULTILINE)
_VARIABLE = re.compile(r"\$\$|\$\{(?P<braced>\w+)(?::?-(?P<default>[^}]*))?\}|\$(?P<plain>[A-Za-z_]\w*)", re.ASCII)
_MERGE = "<<"
_READ = frozenset(
    {"image", "command", "args", "entrypoint", "environment", "env", "volumes", "restart", "name", _MERGE}
)
_MAX_NODES, _MAX_DEPTH = 5_000, 40


@dataclass(slots=True)
class Service:
    """One container as its file describes it; `script` is a command that is one text, `words` one that is a list."""

    name: str
    image: str | None = None
    words: list[Word] = field(default_factory=list)
    script: str | None = None
    environment: dict[str, Word] = field(default_factory=dict)
    volumes: list[tuple[str, str]] = field(default_factory=list)
    gpus: str | None = None
    restarts: bool = False


def is_compose(text: str) -> bool:
    """It looks like one."""
    return _LOOKS.search(text) is not None


def read_services(text: str, remarks: Remarks) -> list[Service]:
    """The services whose command names SGLang.

    Raises:
        UsageError: it isn't YAML, or one that was made to be hard to read.
    """
    document = _load(text)
    found = [(name, table) for name, table in _tables(document, "") if _names_server(table)]
    return [_read(name, table, remarks) for name, table in found]


def _load(text: str) -> Any:
    if _depth(text) > _MAX_DEPTH:  # the parser's time grows with the square of it
        raise UsageError("not valid YAML: brackets are nested too deeply", "paste the service as it stands in its file")
    import yaml  # noqa: PLC0415 - takes 20 ms, and most imports are of command lines

    try:
        # All scalars as they are written: no dates, no 30000:30000 in base 60, no objects.
        return yaml.load(text, yaml.BaseLoader)  # noqa: S506 - BaseLoader makes nothing but texts, lists and tables
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}: " if mark is not None else ""
        raise UsageError(f"{where}not valid YAML", "paste the service as it stands in its file") from None


def _depth(text: str) -> int:
    """How deep brackets are nested, or would be if none of them stood in quotes."""
    depth = deepest = 0
    for character in text:
        depth += (character in "[{") - (character in "]}" and depth > 0)
        deepest = max(deepest, depth)
    return deepest


def _tables(node: Any, name: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """All tables with their keys' names, anchors but once, in bounds."""
    seen: set[int] = set()
    stack: list[tuple[Any, str, int]] = [(node, name, 0)]
    while stack and len(seen) < _MAX_NODES:
        value, called, depth = stack.pop()
        if id(value) in seen or depth > _MAX_DEPTH or not isinstance(value, dict | list):
            continue
        seen.add(id(value))
        if isinstance(value, dict):
            yield called, _merged(value, 0)
            stack.extend((inner, str(key), depth + 1) for key, inner in reversed(value.items()) if key != _MERGE)
        else:
            stack.extend((inner, called, depth + 1) for inner in reversed(value))


def _merged(table: Mapping[str, Any], depth: int) -> Mapping[str, Any]:
    """The table with what `<<` brings in; its own keys win."""
    given = table.get(_MERGE)
    if given is None or depth > _MAX_DEPTH:
        return table
    others = [one for one in (given if isinstance(given, list) else [given])[:_MAX_DEPTH] if isinstance(one, dict)]
    merged: dict[str, Any] = {}
    for other in reversed(others):
        merged |= other if depth else _merged(other, depth + 1)
    return merged | {key: value for key, value in table.items() if key != _MERGE}


def _names_server(table: Mapping[str, Any]) -> bool:
    words = (table.get(key) for key in ("command", "args", "entrypoint"))
    return any("launch_server" in text or "sglang serve" in text for text in map(_flat, words))


def _flat(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def _read(name: str, table: Mapping[str, Any], remarks: Remarks) -> Service:
    service = Service(str(table.get("container_name") or table.get("name") or name), image=_text(table.get("image")))
    parts = [table[key] for key in ("entrypoint", "command", "args") if table.get(key)]
    if any(isinstance(part, str) for part in parts):
        # What a shell would fill in, compose does; its own escape is $$.
        service.script = " ".join(part.replace("$$", "$") if isinstance(part, str) else _quoted(part) for part in parts)
    else:
        service.words = [_fill(str(word), remarks) for part in parts for word in part]
    service.environment = dict(_environment(table.get("environment") or table.get("env"), remarks))
    volumes = table.get("volumes")
    texts = [volume for volume in volumes if isinstance(volume, str)] if isinstance(volumes, list) else []
    service.volumes = [pair for pair in map(read_volume, texts) if pair is not None]
    service.gpus = _gpus(table)
    service.restarts = str(table.get("restart", "")).startswith(("always", "unless-stopped", "on-failure"))
    left = [key for key in table if key not in _READ and not (key == "deploy" and service.gpus)]
    if left or volumes:
        keys = [*(["volumes"] if volumes else []), *left]
        remarks.lost(f"{quote(', '.join(keys))} of the service {name}")
    return service


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _quoted(words: list[Any]) -> str:
    import shlex  # noqa: PLC0415 - a rare mixture

    return shlex.join(map(str, words))


def _environment(given: Any, remarks: Remarks) -> Iterator[tuple[str, Word]]:
    """A table, a list of `NAME=value` or bare names, or Kubernetes' list of `name` and `value`."""
    pairs: list[tuple[str, Any]] = []
    if isinstance(given, dict):
        pairs = [(str(name), value) for name, value in given.items() if name != _MERGE]
    elif isinstance(given, list):
        for item in given:
            if isinstance(item, dict):
                pairs.append((str(item.get("name", "")), item.get("value")))
            else:
                name, equals, value = str(item).partition("=")
                pairs.append((name, value if equals else None))
    for name, value in pairs:
        if value in (None, ""):  # passed through from whoever starts it
            yield name, Word(f"${name}", (f"${name}",), name)
        else:
            yield name, _fill(str(value), remarks)


def _fill(text: str, remarks: Remarks) -> Word:
    unknown: list[str] = []

    def put(match: re.Match[str]) -> str:
        if match[0] == "$$":
            return "$"
        if match["default"] is not None:
            remarks.changed(f"{match['braced']} isn't set here: its default {match['default']!r} was taken")
            return match["default"]
        unknown.append(match[0])
        return match[0]

    filled = _VARIABLE.sub(put, text)
    alone = _VARIABLE.fullmatch(filled) if unknown == [filled] else None
    return Word(filled, tuple(unknown), (alone["braced"] or alone["plain"]) if alone else None)


def _gpus(table: Mapping[str, Any]) -> str | None:
    """`deploy.resources.reservations.devices[].device_ids`."""
    for _, inner in _tables(table.get("deploy"), ""):
        ids = inner.get("device_ids")
        if isinstance(ids, list) and ids:
            return ",".join(map(str, ids))
    return None
