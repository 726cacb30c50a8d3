"""`sgltui flags`: what a SGLang takes, from its own parser where there is one."""

from __future__ import annotations

import argparse
import shutil
import sys
import textwrap
from collections.abc import Sequence
from typing import Any

from tui.cli.context import Context, open_context, print_json
from tui.cli.say import say
from tui.errors import ExitCode, UsageError
from tui.sglang.describe import Kind, complete, item_kind, kind_of
from tui.sglang.flag_history import find_life
from tui.sglang.flags import Flag
from tui.sglang.interpreter import find_interpreter
from tui.sglang.target import Target, ask_target, recorded_target
from tui.sglang.versions import parse_release
from tui.text import printable

_INDENT = "    "
_MOST_WIDTH = 100


def flags(options: argparse.Namespace) -> ExitCode:
    """List the flags, or those that a pattern names; status 1 where none does."""
    target = _target(open_context(options), options)
    found = _select(target, options.pattern)
    if target.note is not None:
        say(target.note)
    if options.json:
        print_json([_to_json(flag) for flag in found])
    else:
        _show(found, target)
    if not found:
        say(f"no flag of SGLang {target.release.text} is like {options.pattern!r}{_elsewhere(options.pattern, target)}")
    return ExitCode.DONE if found else ExitCode.FAILED


def _target(context: Context, options: argparse.Namespace) -> Target:
    if options.sglang is not None:
        return recorded_target(parse_release(options.sglang))
    places, settings = context.places, context.settings
    found = find_interpreter(options.python, settings.python, places.simulated, places.settings_file)
    return ask_target(
        found, places.flag_cache, about_to_ask=lambda: say(f"asking {found.python} once, which may take a minute")
    )


def _select(target: Target, pattern: str | None) -> list[Flag]:
    if pattern is not None and not pattern.strip("-"):
        raise UsageError("the pattern is empty", "give a part of a flag's name")
    found: dict[str, Flag] = {}
    for inventory in target.inventories:
        some = inventory.flags if pattern is None else complete(pattern, inventory, limit=len(inventory.flags))
        found |= {flag.name: flag for flag in some if flag.name not in found}
    return list(found.values())


def _elsewhere(pattern: str | None, target: Target) -> str:
    life = find_life(f"--{(pattern or '').lstrip('-')}")
    why = None if life is None else life.describe(target.release)
    return "" if why is None else f": {why}"


def _to_json(flag: Flag) -> dict[str, Any]:
    return {
        "options": list(flag.option_strings),
        "name": flag.name,
        "dest": flag.dest,
        "kind": str(kind_of(flag)),
        "item": str(item_kind(flag)),
        "type": flag.type,
        "choices": None if flag.choices is None else list(flag.choices),
        "default": flag.default,
        "nargs": flag.nargs,
        "required": flag.required,
        "deprecated": flag.deprecated,
        "help": flag.help or None,
    }


def _show(found: Sequence[Flag], target: Target) -> None:
    print(f"SGLang {target.release.text}: {len(found)} flags{', as its own parser has them' if target.own else ''}")
    width = min(shutil.get_terminal_size().columns, _MOST_WIDTH) if sys.stdout.isatty() else _MOST_WIDTH
    for flag in found:
        print()
        print(printable(f"{', '.join(_spelled(flag))}  {_takes(flag)}".rstrip()))
        about = [*_choices(flag), *_default(flag), *_remarks(flag)]
        for line in about:
            _wrapped(line, width)
        _wrapped(flag.help, width)


def _wrapped(text: str, width: int) -> None:
    for line in textwrap.wrap(printable(" ".join(text.split())), max(20, width - len(_INDENT)), break_on_hyphens=False):
        print(_INDENT + line)


def _spelled(flag: Flag) -> list[str]:
    return [*flag.option_strings, *(f"--no-{flag.name}" for _ in range(flag.action == "boolean"))]


def _takes(flag: Flag) -> str:
    kind, item = kind_of(flag), item_kind(flag)
    if kind in (Kind.SWITCH, Kind.PAIR):
        return ""
    word = item.value.upper()
    return f"{word} {word} …" if kind is Kind.LIST else f"[{word}]" if flag.nargs == "?" else word


def _choices(flag: Flag) -> list[str]:
    return [] if flag.choices is None else [f"one of {', '.join(map(str, flag.choices))}"]


def _default(flag: Flag) -> list[str]:
    if flag.default is None or flag.default is False or flag.default == "":
        return []
    return [f"default {flag.default}"]


def _remarks(flag: Flag) -> list[str]:
    if flag.action == "deprecated":
        return ["deprecated: it does nothing any more"]
    return ["deprecated"] if flag.deprecated else []
