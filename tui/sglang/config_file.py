"""`--config FILE.yaml` as SGLang reads it: the file's keys become words in front of the typed ones, which win.

Sources: server_args.py prepare_server_args (0.5.6.post2:4460, 0.5.11:7265, 0.5.23:668) and its
server_args_config_parser.py, which changed in 0.5.8, 0.5.14 and 0.5.23.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from msgspec import Struct

from tui.errors import UsageError
from tui.sglang.flags import Flag, FlagInventory
from tui.sglang.versions import Release
from tui.text import printable

OPTION = "--config"
_LISTS_OF_OBJECTS = ("lora_paths",)  # has an action of its own, LoRAPathAction
_SUFFIXES = (".yaml", ".yml")
_MAX_BYTES = 256 * 1024
_MAX_NODES = 10_000  # aliases may name one node a million times
_MAX_DEPTH = 32


class Merged(Struct, frozen=True):
    """A command line with its config file.

    Attributes:
        words: what SGLang parses.
        from_file: how many of them, in front, come from the file.
        file: None where there is none.
    """

    words: tuple[str, ...]
    from_file: int = 0
    file: Path | None = None


def merge_config(
    words: Sequence[str], release: Release, inventory: FlagInventory, folder: Path | None = None
) -> Merged:
    """The words that the release's parser gets to see.

    Only a `--config` of its own is read, as in SGLang: `--config=FILE` and `--conf FILE` are taken and ignored.
    A relative path starts in `folder`; None: where this process is.

    Raises:
        UsageError: SGLang would end with it: no such file, not YAML, a key that can't be one.
    """
    if OPTION not in words:
        return Merged(tuple(words))
    at = words.index(OPTION)
    if words.count(OPTION) > 1:
        raise UsageError("--config is given twice, and SGLang takes one", "put everything into one file")
    if at == len(words) - 1:
        raise UsageError("--config has no file behind it")
    path = (folder or Path()) / words[at + 1]
    own = _to_words(path, _read(path), _Rules(release, inventory))
    return Merged((*own, *words[:at], *words[at + 2 :]), len(own), path)


class _Rules(Struct, frozen=True):
    """How a release turns a key into words."""

    release: Release
    inventory: FlagInventory

    def action_of(self, key: str) -> str:
        """`store_true`, `store`, `other` for what config files can't set, or `unknown`."""
        name = key.replace("-", "_")
        found = [flag for flag in self.inventory.flags if self._is_named(flag, name)]
        if not found:
            return "unknown"
        kinds = [self._kind(flag) for flag in found]
        return next((kind for kind in ("store_true", "store") if kind in kinds), "other")

    def _is_named(self, flag: Flag, name: str) -> bool:
        if flag.dest == name:
            return True
        spelled = {option.lstrip("-").replace("-", "_") for option in flag.option_strings}
        return self.release.includes("0.5.23") and name in spelled

    def _kind(self, flag: Flag) -> str:
        if flag.dest in _LISTS_OF_OBJECTS:
            return "other"
        if flag.action == "store":
            return "store" if not flag.deprecated or self.release.includes("0.5.23") else "other"
        return "store_true" if flag.action == "store_true" and not flag.deprecated else "other"


def _read(path: Path) -> dict[Any, Any]:
    shown = printable(str(path))
    if path.suffix.lower() not in _SUFFIXES:
        raise UsageError(f"--config {shown}: SGLang takes files that end in .yaml or .yml only", "rename it")
    try:
        if not path.is_file():  # also a FIFO, which would block
            raise UsageError(f"--config {shown}: there is no such file", "a relative path starts where you are")
        with path.open("rb") as file:
            data = file.read(_MAX_BYTES + 1)
    except OSError as error:
        raise UsageError(f"--config {shown} can't be read: {error.strerror}") from error
    if len(data) > _MAX_BYTES:
        raise UsageError(f"--config {shown} is larger than 256 KiB", "a config file holds flags, one a line")
    try:
        table = yaml.safe_load(data)
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError, ValueError) as error:
        raise UsageError(f"--config {shown} isn't YAML: {_place(error)}") from error
    if table is None:
        return {}
    if not isinstance(table, dict):
        raise UsageError(f"--config {shown} isn't a table", "write one `flag: value` a line")
    _check_size(shown, table)
    return table


def _place(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    what = getattr(error, "problem", None) or type(error).__name__
    return printable(f"{what}, line {mark.line + 1}" if mark is not None else str(what))


def _check_size(shown: str, table: dict[Any, Any]) -> None:
    nodes: list[tuple[Any, int]] = [(table, 0)]
    seen = 0
    while nodes:
        node, depth = nodes.pop()
        seen += 1
        if depth > _MAX_DEPTH or seen > _MAX_NODES:
            raise UsageError(f"--config {shown} is nested too deep, or holds too much")
        if isinstance(node, dict):
            nodes += [(child, depth + 1) for child in (*node, *node.values())]
        elif isinstance(node, list | tuple | set):
            nodes += [(child, depth + 1) for child in node]


def _to_words(path: Path, table: dict[Any, Any], rules: _Rules) -> list[str]:
    words: list[str] = []
    for key, value in table.items():
        if not isinstance(key, str):
            raise UsageError(f"--config {printable(str(path))}: {printable(str(key))!r} isn't the name of a flag")
        words += _entry(path, key, value, rules)
    return words


def _entry(path: Path, key: str, value: Any, rules: _Rules) -> list[str]:
    action = rules.action_of(key)
    if action == "other" and rules.release.includes("0.5.8"):
        what = f"--config {printable(str(path))}: SGLang takes {printable(key)} on the command line only"
        raise UsageError(what, f"take it out of the file and give --{printable(key)}")
    if isinstance(value, bool):
        if not rules.release.includes("0.5.8"):  # before, every key that is true becomes a switch
            return [f"--{key}"] if value else []
        if action == "store_true":
            return [f"--{key}"] if value else []
        return [f"--{key}", str(value).lower()]
    if isinstance(value, list):
        return [f"--{key}", *map(str, value)] if value else []
    if isinstance(value, dict) and rules.release.includes("0.5.14"):
        return [f"--{key}", json.dumps(value, default=str)]
    return [f"--{key}", str(value)]
