"""The GPUs that a launch could be given, in words: one line each, and all of them in a sentence."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from tui.app.glyphs import Glyphs
from tui.app.words import format_indices
from tui.app.wrapping import drawn, joined, wrapped
from tui.budget.types import Verdict
from tui.launch.gpu_choices import GpuChoice, JudgedChoice

# Letters that aren't keys of a list or of the screen. Digits are for who would rather type the indices.
CHOICE_KEYS = "abcefhilmnprstvwxyz"
_VERDICTS = {
    Verdict.FITS: ("fits", "$success"),
    Verdict.TIGHT: ("barely fits", "$warning"),
    Verdict.EXCEEDS: ("doesn't fit", "$error"),
    Verdict.UNKNOWN: ("can't tell", "$quiet"),
    None: ("can't be planned", "$quiet"),
}


def choice_name(choice: GpuChoice) -> str:
    """`GPU 1`, `GPUs 0,1 with TP 2`."""
    tensor = "" if choice.tensor is None else f" with TP {choice.tensor}"
    return f"GPU{'s' if len(choice.gpus) > 1 else ''} {format_indices(choice.gpus)}{tensor}"


def choice_line(key: str, judged: JudgedChoice, width: int, glyphs: Glyphs) -> Content:
    """`b  GPU 1  fits: 173k tokens, 8 requests at once, 10.5 GiB stay free`; `width` is that of the names."""
    word, style = _VERDICTS[judged.verdict]
    name = choice_name(judged.choice).ljust(width)
    return Content.assemble(
        (f"{key}  ", "bold"),
        f"{name}  ",
        (word, f"bold {style}"),
        (f": {drawn(joined(judged.words, glyphs))}", "$quiet"),
    )


def choices_sentence(choices: Sequence[JudgedChoice], width: int, glyphs: Glyphs) -> list[Content]:
    """What fits where; nothing where there is only one choice."""
    if len(choices) < 2:  # noqa: PLR2004 nothing to compare
        return []
    parts = [f"{choice_name(one.choice)}: {_VERDICTS[one.verdict][0]}" for one in choices]
    text = f" {glyphs.dot} ".join(parts)
    return [Content.styled(line, "$quiet") for line in wrapped(f"{text} {glyphs.rule} o chooses", width, glyphs)]
