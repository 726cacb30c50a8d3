"""`sgltui preset check` and `sgltui preset translate`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from difflib import unified_diff
from typing import Any

from msgspec import structs

from tui.cli.context import Context, open_context, print_json
from tui.cli.saving import save_draft
from tui.cli.say import say
from tui.errors import ExitCode, SgltuiError
from tui.launch.flag_check import Checked, check_spec, plain_environment, tell_of_asking
from tui.launch.planning import cards_of, choose_gpus
from tui.launch.spec import spec_from_preset
from tui.lint import Finding
from tui.presets import Preset, dump_preset, find_preset, load_presets
from tui.presets.store import draft
from tui.sglang.interpreter import find_interpreter
from tui.sglang.target import Target, ask_target, recorded_target
from tui.sglang.translate import Translation, translate
from tui.sglang.versions import NEWEST_KNOWN, parse_release
from tui.text import printable


def check(options: argparse.Namespace) -> ExitCode:
    """Tell the faults of presets; status 1 where SGLang would refuse one, or a file can't be used."""
    context = open_context(options)
    presets, problems = _find(context, options.names)
    rows = [_check(context, preset, options) for preset in presets]
    if options.json:
        print_json([_to_json(preset, checked, moved) for preset, checked, moved in rows])
    else:
        for preset, checked, moved in rows:
            _show(preset, checked, moved, options.sglang)
    for problem in problems:
        say(problem)
    failed = problems or any(checked.errors or (moved is not None and moved.lost) for _, checked, moved in rows)
    return ExitCode.FAILED if failed else ExitCode.DONE


def translate_preset(options: argparse.Namespace) -> ExitCode:
    """Write a preset anew for another release, after showing what changes and asking."""
    context = open_context(options)
    preset = find_preset(context.places, options.preset)
    moved = translate(preset.flags, _written_for(preset), recorded_target(parse_release(options.to)))
    after = _moved_preset(preset, moved, options.to)
    _show_lost(moved)
    if after == preset:
        say(f"{preset.name} is right for SGLang {options.to} as it is")
    else:
        save_draft(draft(context.places, after), yes=options.yes)
    return ExitCode.DONE


def _find(context: Context, names: Sequence[str]) -> tuple[list[Preset], list[str]]:
    if not names:
        found = load_presets(context.places)
        return list(found.presets), [problem.message for problem in found.problems]
    presets, problems = [], []
    for name in names:
        try:
            presets.append(find_preset(context.places, name))
        except SgltuiError as error:
            problems.append(str(error))
    return presets, problems


def _check(context: Context, preset: Preset, options: argparse.Namespace) -> tuple[Preset, Checked, Translation | None]:
    """The lint for the preset's own engine; with `--for`, of what it becomes there."""
    spec = spec_from_preset(preset)
    if options.sglang is None:
        target = _engine(context, preset)
        moved = None
    else:
        target = recorded_target(parse_release(options.sglang))
        moved = translate(preset.flags, _written_for(preset), target)
        spec = structs.replace(spec, flags=moved.flags)
    try:
        cards = cards_of(choose_gpus(spec, target.release, context.reader.read()))
    except SgltuiError:
        cards = []  # a preset for another machine; what depends on the cards isn't told
    return preset, check_spec(spec, target, cards or None, context.places.hub), moved


def _engine(context: Context, preset: Preset) -> Target:
    """Whose flags: the named interpreter's, those of the release it was written for, or the found one's."""
    places, settings = context.places, context.settings
    written_for = _written_for(preset)
    if preset.engine.python is None and written_for is not None and places.simulated is None:
        return written_for
    try:
        found = find_interpreter(preset.engine.python, settings.python, places.simulated, places.settings_file)
    except SgltuiError as error:
        target = written_for or recorded_target(parse_release(str(NEWEST_KNOWN)))
        return structs.replace(target, note=f"{error.what}: held against the flags of SGLang {target.release.text}")
    environment = plain_environment(spec_from_preset(preset))
    return ask_target(found, places.flag_cache, environment, tell_of_asking(say, found))


def _written_for(preset: Preset) -> Target | None:
    return None if preset.engine.sglang is None else recorded_target(parse_release(preset.engine.sglang))


def _moved_preset(preset: Preset, moved: Translation, release: str) -> Preset:
    engine = preset.engine if preset.engine.sglang == release else replace_release(preset, release)
    return replace(preset, flags=moved.flags, engine=engine)


def replace_release(preset: Preset, release: str) -> Any:
    """Its engine, written for another release."""
    return structs.replace(preset.engine, sglang=release)


def _show(preset: Preset, checked: Checked, moved: Translation | None, release: str | None) -> None:
    target = checked.target
    faults = len(checked.errors)
    state = "clean" if not checked.findings else f"{faults} errors" if faults else "usable"
    print(printable(f"{preset.name}: {state} for SGLang {target.release.text}"))
    if target.note is not None:
        print(printable(f"  ({target.note})"))
    for finding in checked.findings:
        print(printable(f"  {finding.severity}: {finding.what}; {finding.remedy}"))
    if moved is not None and release is not None:
        _show_diff(preset, _moved_preset(preset, moved, release))
        for change in moved.changes:
            print(printable(f"  {', '.join(change.old)}: {change.why}"))
        _show_lost(moved)


def _show_diff(before: Preset, after: Preset) -> None:
    lines = unified_diff(
        dump_preset(before).splitlines(), dump_preset(after).splitlines(), before.name, after.name, lineterm="", n=1
    )
    for line in lines:
        print(printable(line))


def _show_lost(moved: Translation) -> None:
    for lost in moved.lost:
        say(f"{lost.name} can't be carried over: {lost.why}; {lost.remedy}")


def _to_json(preset: Preset, checked: Checked, moved: Translation | None) -> dict[str, Any]:
    row: dict[str, Any] = {
        "preset": preset.name,
        "path": None if preset.path is None else str(preset.path),
        "sglang": checked.target.release.text,
        "own_flags": checked.target.own,
        "note": checked.target.note,
        "findings": [_finding(finding) for finding in checked.findings],
        "translation": None,
    }
    if moved is not None:
        row["translation"] = {
            "changes": [
                {"old": _plain(change.old), "new": _plain(change.new), "why": change.why} for change in moved.changes
            ],
            "lost": [{"flag": lost.name, "why": lost.why, "remedy": lost.remedy} for lost in moved.lost],
        }
    return row


def _finding(finding: Finding) -> dict[str, Any]:
    fix = finding.fix
    return {
        "id": finding.id,
        "severity": str(finding.severity),
        "flag": finding.flag or None,
        "what": finding.what,
        "remedy": finding.remedy,
        "change": None if fix is None else {"set": _plain(fix.set), "unset": list(fix.unset)},
    }


def _plain(flags: Any) -> dict[str, Any]:
    return {name: _value(value) for name, value in flags.items()}


def _value(value: Any) -> Any:
    return {value.kind: value.target} if hasattr(value, "target") else value
