"""`sgltui preset list` and `sgltui preset show`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

import msgspec

from tui.cli.context import Context, open_context, print_json, print_table
from tui.cli.say import say
from tui.errors import ExitCode
from tui.launch.standing import Judge
from tui.presets import Preset, Presets, Reference, dump_preset, find_preset, load_presets, origin_of, preset_folders
from tui.presets.secrets import powerful_variables
from tui.text import printable

_HEADER = ("NAME", "MODEL", "EVIDENCE", "FROM", "DESCRIPTION")
_ORIGINS = {"project": "the project", "user": "yours", "shipped": "sgltui", None: "its path"}


def list_presets(options: argparse.Namespace) -> ExitCode:
    """List all presets; a broken one is told on stderr, gives status 1, and doesn't hide the others."""
    context = open_context(options)
    found = load_presets(context.places)
    judge = _judge(context)
    if options.json:
        presets = [_to_json(context, judge, preset, found.hidden) for preset in found.presets]
        problems = [{"path": str(problem.path), "message": problem.message} for problem in found.problems]
        print_json({"schema": 1, "presets": presets, "problems": problems})
    else:
        _show_table(context, judge, found)
    for problem in found.problems:
        say(problem.message)
    return ExitCode.FAILED if found.problems else ExitCode.DONE


def show_preset(options: argparse.Namespace) -> ExitCode:
    """Print a preset as TOML; where it comes from and what its evidence is worth go to stderr."""
    context = open_context(options)
    preset = find_preset(context.places, options.preset)
    judge = _judge(context)
    if options.json:
        print_json(_to_json(context, judge, preset, {}))
        return ExitCode.DONE
    print(dump_preset(preset), end="")
    if preset.path is not None:
        say(f"from {preset.path}")
    standing, why = judge.judge(preset)
    say(f"{standing}: {why}")
    for name in powerful_variables(preset.env):
        say(f"it sets {name}, which decides what code the server runs: {_shown(preset.env[name])}")
    return ExitCode.DONE


def _judge(context: Context) -> Judge:
    return Judge(context.places, context.settings, context.reader.read())


def _show_table(context: Context, judge: Judge, found: Presets) -> None:
    rows = [
        (
            preset.name,
            preset.model,
            judge.judge(preset)[0].value,
            _ORIGINS[origin_of(context.places, preset)],
            preset.description,
        )
        for preset in found.presets
    ]
    print_table(_HEADER, rows)
    if found.hidden:
        folders = " over ".join(str(folder) for folder, _ in preset_folders(context.places))
        say(f"of one name, the first folder's counts: {folders}")
    for path, others in found.hidden.items():
        say(f"{path} hides {', '.join(map(str, others))}")


def _to_json(context: Context, judge: Judge, preset: Preset, hidden: Mapping[Any, Any]) -> dict[str, Any]:
    standing, why = judge.judge(preset)
    return {
        "name": preset.name,
        "description": preset.description,
        "model": preset.model,
        "standing": standing.value,
        "standing_reason": why,
        "origin": origin_of(context.places, preset),
        "path": None if preset.path is None else str(preset.path),
        "hides": [str(path) for path in hidden.get(preset.path, ())],
        "engine": msgspec.to_builtins(preset.engine),
        "flags": {name: _plain(value) for name, value in preset.flags.items()},
        "env": {name: _plain(value) for name, value in preset.env.items()},
        "launch": msgspec.to_builtins(preset.launch),
        "evidence": None if preset.evidence is None else msgspec.to_builtins(preset.evidence),
    }


def _plain(value: object) -> Any:
    return {value.kind: value.target} if isinstance(value, Reference) else value


def _shown(value: str | Reference) -> str:
    return f"from the {value.kind} {value.target}" if isinstance(value, Reference) else printable(value)
