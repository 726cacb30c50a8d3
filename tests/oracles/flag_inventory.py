"""Prints every flag of a real SGLang's argument parser, in the schema of `tui/sglang/flags.py`.

Run under the interpreter of a SGLang environment, at the root of this repository, with the stand-in modules of
`tests/real` on PYTHONPATH: `ENV/bin/python -m tests.oracles.flag_inventory > tui/sglang/data/flags-RELEASE.json`.

The answer is a fact about the release, not about the machine: GPUs and SGLang's environment variables are hidden
first, and choices kept in a set, whose order changes from run to run, are sorted.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

from tests.oracles.answering import answer, hide_the_machine, module, sglang_release

TYPES = {
    None: "str",
    "str": "str",
    "int": "int",
    "float": "float",
    "human_readable_int": "human_int",
    "loads": "json",
    "json_list_type": "json_list",
    "nullable_str": "nullable_str",
    "parse_cuda_graph_config_arg": "json",
    "parse_cuda_graph_backend_arg": "str",  # refuses one retired name before the choices are checked
}
SWITCHES = {
    "_StoreTrueAction": "store_true",
    "DeprecatedStoreTrueAction": "store_true",
    "BooleanOptionalAction": "boolean",
    "DeprecatedAction": "deprecated",
}
# A custom action that reads a value like a plain store as far as the command line is concerned.
VALUED = {"_StoreAction", "LoRAPathAction", "DeprecatedStoreConstAction", "DeprecatedAliasStoreAction"}


def read_action(action: argparse.Action) -> dict[str, Any]:
    """One flag as an object of the inventory; what is usual there is left out."""
    kind = type(action).__name__
    if kind not in VALUED and kind not in SWITCHES:
        raise ValueError(f"{action.option_strings}: no rule for an action {kind}")
    switch = SWITCHES.get(kind)
    flag: dict[str, Any] = {"options": _spellings(action), "dest": action.dest}
    optional = {
        "action": switch,
        "type": None if switch else _type(action),
        "choices": _choices(action),
        "default": action.default,
        "nargs": None if switch else action.nargs,
        "required": action.required or None,
        "deprecated": kind.startswith("Deprecated") or None,
    }
    return flag | {key: value for key, value in optional.items() if value is not None}


def _spellings(action: argparse.Action) -> list[str]:
    """All spellings but the `--no-x` that a boolean flag has for each `--x`."""
    options = list(action.option_strings)
    if not isinstance(action, argparse.BooleanOptionalAction):
        return options
    positive = [option for option in options if not option.startswith("--no-")]
    if sorted(options) != sorted(positive + ["--no-" + option.removeprefix("--") for option in positive]):
        raise ValueError(f"{options}: not a pair of --x and --no-x")
    return positive


def _type(action: argparse.Action) -> str | None:
    """The type's name, or None for text, which is the usual."""
    name = None if action.type is None else getattr(action.type, "__name__", str(action.type))
    known = TYPES[name]
    return None if known == "str" else known


def _choices(action: argparse.Action) -> list[Any] | None:
    if action.choices is None:
        return None
    return sorted(action.choices) if isinstance(action.choices, set) else list(action.choices)


def read_parser() -> dict[str, Any]:
    """The inventory of the SGLang beside this interpreter."""
    parser = argparse.ArgumentParser(add_help=False)
    module("sglang.srt.server_args").ServerArgs.add_cli_args(parser)
    return {"release": sglang_release(), "flags": [read_action(action) for action in parser._actions]}


def render(inventory: dict[str, Any]) -> str:
    """One flag a line, so that a change of SGLang reads well as a diff."""
    flags = ",\n".join(f"  {json.dumps(flag)}" for flag in inventory["flags"])
    return f'{{"schema": 1, "release": {json.dumps(inventory["release"])}, "flags": [\n{flags}\n]}}'


if __name__ == "__main__":
    hide_the_machine()
    answer(read_parser, render)
