"""The command line of a server: flags as words, and the same words without their secrets for records and screens."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from msgspec import Struct

from tui.errors import UsageError
from tui.hiding import hide_secrets
from tui.sglang.flags import FlagInventory
from tui.sglang.references import ResolvedValue, Secret, expand_home

_DECIDED = frozenset({"model-path", "host", "port"})  # by the launch itself
_MAX_PORT = 65535


@dataclass(frozen=True, slots=True)
class Command:
    """A command line twice.

    Attributes:
        argv: what is run; may hold secrets.
        shown: the same words with `***` for each secret.
    """

    argv: tuple[str, ...] = field(repr=False)
    shown: tuple[str, ...]


class TypedFlags(Struct, frozen=True):
    """Words typed behind `--`, without those that the launch itself decides; None where they weren't typed."""

    model: str | None
    host: str | None
    port: int | None
    rest: tuple[str, ...]


def make_command(words: Sequence[str]) -> Command:
    """A command from the words of its command line; a `Secret` among them stays hidden."""
    return Command(argv=tuple(str(word) for word in words), shown=tuple(redact(words)))


def build_arguments(
    flags: Mapping[str, ResolvedValue],
    model: str,
    host: str | None,
    port: int,
    inventories: Sequence[FlagInventory] = (),
) -> list[str]:
    """The arguments of a server: `--model-path M --port P [--host H] --flag value …`.

    `flags` have SGLang's names without dashes. True is a switch that is given, False one that is left out, a list is
    several words behind one flag. `~/` in front of a model's folder is expanded.

    Args:
        flags: as above.
        model: a path, or a Hugging Face id.
        host: None leaves it to SGLang.
        port: where it shall listen.
        inventories: the release's flags; with them, False switches off what has a `--no-x`.
    """
    fixed: dict[str, ResolvedValue] = {"model-path": expand_home(model), "port": port}
    if host is not None:
        fixed["host"] = host
    words = []
    for name, value in (fixed | dict(flags)).items():
        no = value is False and has_negation(name, inventories)
        words += [f"--no-{name}"] if no else flag_words(f"--{name}", value)
    return words


def flag_words(option: str, value: ResolvedValue) -> list[str]:
    """A flag with its value as words: a switch that is off has none."""
    if isinstance(value, bool):
        return [option] if value else []
    if isinstance(value, list) and len(value) != 1:
        return [option, *map(_list_item, value)]
    if isinstance(value, list):
        value = value[0]
    if str(value).startswith("-"):  # argparse would take it for another option
        return [_join(option, value)]
    return [option, value if isinstance(value, str) else str(value)]


def has_negation(name: str, inventories: Sequence[FlagInventory]) -> bool:
    """A flag that can be switched off, by `--no-x`; others that are off are left out."""
    return any(inventory.find(f"--no-{name}") is not None for inventory in inventories)


def split_flag_words(words: Sequence[str], inventory: FlagInventory) -> TypedFlags:
    """Take model, host and port out of words typed for SGLang; the rest is passed on as it was typed.

    They are read as argparse reads them: `--port 1`, `--port=1`, unique prefixes, and the last one wins.

    Args:
        words: as typed behind `--`.
        inventory: the flags of the release that will read them.

    Raises:
        UsageError: one of the three has no value, or the port isn't one.
    """
    taken: dict[str, str] = {}
    rest: list[str] = []
    remaining = iter(words)
    for word in remaining:
        typed, equals, value = word.partition("=")
        flag = inventory.resolve(typed) if typed.startswith("--") else None
        if flag is None or flag.name not in _DECIDED:
            rest.append(word)
        else:
            taken[flag.name] = value if equals else _next_value(remaining, typed)
    port = taken.get("port")
    return TypedFlags(
        taken.get("model-path"), taken.get("host"), None if port is None else _read_port(port), tuple(rest)
    )


def redact(words: Sequence[str]) -> list[str]:
    """The words with `***` for each secret: values of secret flags, and every `Secret`."""
    return hide_secrets([word.shown if isinstance(word, Secret) else word for word in words])


def _list_item(item: str | float) -> str:
    """One of several words; `-1e-07` would be taken for an option, and `-0.0000001` isn't."""
    text = item if isinstance(item, str) else str(item)
    return format(Decimal(text), "f") if isinstance(item, float) and text.startswith("-") and "e" in text else text


def _join(option: str, value: str | float) -> str:
    joined = f"{option}={value!s}"
    return Secret(joined, shown=f"{option}={value.shown}") if isinstance(value, Secret) else joined


def _next_value(remaining: Iterator[str], typed: str) -> str:
    value = next(remaining, None)
    if value is None or value.startswith("-"):
        raise UsageError(f"{typed} has no value behind it")
    return value


def _read_port(text: str) -> int:
    if not re.fullmatch("[0-9]{1,5}", text) or not 1 <= int(text) <= _MAX_PORT:
        raise UsageError(f"--port is {text!r}, but must be a number from 1 to {_MAX_PORT}")
    return int(text)
