"""Presets in words: as lines of a list, as facts beside a form, and what is wrong with those that can't be read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.cells import cell_len
from textual.content import Content

from tui.app.glyphs import Glyphs
from tui.presets.proof import Standing
from tui.presets.secrets import powerful_variables
from tui.sglang.references import FlagValue, Reference

if TYPE_CHECKING:
    from tui.presets import Preset, PresetProblem

Judged = tuple[Standing, str]
"""How far a preset can be trusted here, and why."""

_STYLES = {Standing.PROVEN_HERE: "$success", Standing.CHANGED: "$warning"}
_STANDING_CELLS = max(map(len, Standing))


def preset_prompt(preset: Preset, judged: Judged, width: int, glyphs: Glyphs, *, marked: bool) -> Content:
    """One preset on one line: its name, how far it is proven, what it is."""
    name, standing = glyphs.plain(preset.name), judged[0]
    pointer = glyphs.pointer if marked else " "
    pad = " " * (width - cell_len(name))
    word = f"{_sign(standing, glyphs)} {standing:<{_STANDING_CELLS}}"
    style = _STYLES.get(standing, "$quiet")
    return Content.assemble(
        f"{pointer} ", (name, "bold"), pad, "  ", (word, style), f"  {glyphs.plain(preset.description)}"
    )


def preset_facts(preset: Preset, judged: Judged) -> dict[str, str]:
    """Model, flags, and what the preset was proved on."""
    return {"model": preset.model, "flags": flags_text(preset), "note": judged[1]}


def _sign(standing: Standing, glyphs: Glyphs) -> str:
    signs = {
        Standing.PROVEN_HERE: glyphs.done,
        Standing.PROVEN_ELSEWHERE: "o",
        Standing.CHANGED: "!",
        Standing.CLAIMED: "?",
    }
    return signs.get(standing, glyphs.dot)


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
