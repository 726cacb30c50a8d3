"""Presets in words: as lines of a list, as facts beside a form, and what is wrong with those that can't be read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.cells import cell_len
from textual.content import Content

from tui.app.glyphs import Glyphs
from tui.presets import FlagValue, Preset, PresetProblem, Reference
from tui.presets.proof import Here, Standing, standing_of
from tui.presets.secrets import powerful_variables


def preset_prompt(preset: Preset, width: int, glyphs: Glyphs, *, marked: bool) -> Content:
    """One preset on one line: its name, whether it was proved, what it is."""
    name = glyphs.plain(preset.name)
    status: str = preset.evidence.status if preset.evidence is not None else "untested"
    if standing_of(preset, Here())[0] is Standing.CHANGED:
        status = "changed"
    style = "$success" if status == "verified" else "$quiet"
    pointer = glyphs.pointer if marked else " "
    pad = " " * (width - cell_len(name))
    return Content.assemble(
        f"{pointer} ", (name, "bold"), pad, "  ", (f"{status:<8}", style), f"  {glyphs.plain(preset.description)}"
    )


def preset_facts(preset: Preset) -> dict[str, str]:
    """Model, flags, and what the preset was proved on."""
    note = preset.evidence.note if preset.evidence is not None else ""
    return {"model": preset.model, "flags": flags_text(preset), "note": note or "nobody has said yet that it works"}


def flags_text(preset: Preset) -> str:
    """The flags as they are typed; a secret is named by where it comes from."""
    flags = " ".join(_flag_text(name, value) for name, value in preset.flags.items()) or "none"
    powerful = powerful_variables(preset.env)
    return f"{flags}; sets {', '.join(powerful)} for the server" if powerful else flags


def problems_content(problems: Sequence[PresetProblem], glyphs: Glyphs) -> Content:
    """Presets that can't be read, a line each; they hide no other."""
    return Content("\n").join(_problem_line(problem, glyphs) for problem in problems)


def _problem_line(problem: PresetProblem, glyphs: Glyphs) -> Content:
    where, _, what = _short_message(problem.path, problem.message).partition(": ")
    return Content.assemble(
        (f"{glyphs.problem} {glyphs.plain(where)}", "$error"), f": {glyphs.plain(what)}" if what else ""
    )


def _short_message(path: Path, message: str) -> str:
    """The message with the file's name where it has its whole path: a message that names no path gets the name."""
    if message.startswith(f"{path}"):
        return f"{path.name}{message.removeprefix(str(path))}"
    return message if str(path) in message else f"{path.name}: {message}"


def _flag_text(name: str, value: FlagValue) -> str:
    if value is True:
        return f"--{name}"
    if isinstance(value, Reference):
        return f"--{name} ({value.kind} {value.target})"
    words = value if isinstance(value, list) else [value]
    return f"--{name} {' '.join(map(str, words))}"
