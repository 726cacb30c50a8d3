"""Run by the Python that has SGLang, as text behind `-c`: prints that SGLang's flags as one JSON object.

Standard library alone, and nothing of this package. Whatever SGLang prints while it is imported goes to standard
error. `add_cli_args` builds the parser of `sglang serve` and of `python -m sglang.launch_server` alike (0.5.6 to
0.5.23 server_args.py, prepare_server_args).
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from importlib import import_module
from typing import Any


def read_action(action: argparse.Action) -> dict[str, Any]:
    """One flag; `kind` and `type` are the names of its classes."""
    kind = type(action).__name__
    if isinstance(action, argparse.BooleanOptionalAction):
        kind = "BooleanOptionalAction"
    return {
        "options": list(action.option_strings),
        "dest": action.dest,
        "kind": kind,
        "switch": action.nargs == 0,
        "type": None if action.type is None else getattr(action.type, "__name__", str(action.type)),
        "choices": None if action.choices is None else _in_order(action.choices),
        "default": action.default,
        "nargs": action.nargs,
        "required": action.required,
        "help": _help(action),
    }


def _in_order(choices: Any) -> list[Any]:
    """A set's order changes from run to run."""
    return sorted(choices, key=str) if isinstance(choices, (set, frozenset)) else list(choices)


def _help(action: argparse.Action) -> str:
    """Its help text with the default filled in, as `--help` would print it."""
    text = action.help or ""
    if text == argparse.SUPPRESS:
        return ""
    try:
        return text % {"default": action.default, "prog": "sglang serve", "dest": action.dest, "type": action.type}
    except (KeyError, TypeError, ValueError):
        return text


def main() -> None:
    """Print the flags of the SGLang beside this interpreter."""
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    sys.path[:] = [entry for entry in sys.path if entry]  # files of the current folder are none of our business
    parser = argparse.ArgumentParser(add_help=False)
    import_module("sglang.srt.server_args").ServerArgs.add_cli_args(parser)
    actions = [action for action in parser._actions if action.option_strings]  # noqa: SLF001 - no other way to list them
    json.dump({"schema": 1, "flags": [read_action(action) for action in actions]}, answer, default=str)
    answer.flush()
    os._exit(0)  # threads and exit handlers of what was imported may hang


if __name__ == "__main__":
    main()
