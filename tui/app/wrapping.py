"""Sentences with figures on lines of a given width: what belongs together stays together."""

from __future__ import annotations

import re

from rich.cells import cell_len

from tui.app.glyphs import Glyphs

# Stands for a blank at which nothing is broken or cut: in `173 227`, before a unit. It is drawn as a blank.
JOINT = "\u202f"
_LONG_COUNT = re.compile(r"(?<![\d.])\d{5,}(?= (?:tokens|bytes|requests)\b)")
_BEFORE_UNIT = re.compile(r"(?<=\d) (?=(?:GiB|MiB|bytes|tokens|requests?)\b|%)")


def joined(text: str, glyphs: Glyphs) -> str:
    """Text from outside made safe to draw, with a joint in each place where no line may end."""
    safe = JOINT.join(glyphs.plain(piece) for piece in text.split(JOINT))
    grouped = _LONG_COUNT.sub(lambda match: f"{int(match[0]):,}".replace(",", JOINT), safe)
    return _BEFORE_UNIT.sub(JOINT, grouped)


def cut(text: str, width: int, glyphs: Glyphs) -> str:
    """One line of at most `width` cells; an ellipsis stands for the words that have no room."""
    whole = joined(text, glyphs)
    if cell_len(whole) <= width:
        return drawn(whole)
    kept = ""
    for word in whole.split(" "):
        longer = f"{kept} {word}" if kept else word
        if cell_len(longer + glyphs.ellipsis) > width:
            break
        kept = longer
    return drawn(kept.rstrip(" ,;:") + glyphs.ellipsis)[: max(0, width)]


def wrapped(text: str, width: int, glyphs: Glyphs) -> list[str]:
    """Lines of at most `width` cells; only what is longer than a whole line is cut."""
    lines = [""]
    for word in filter(None, joined(text, glyphs).split(" ")):
        longer = f"{lines[-1]} {word}" if lines[-1] else word
        if not lines[-1] or cell_len(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return [drawn(glyphs.fit(line, width)) for line in lines]


def drawn(text: str) -> str:
    """Joints as the blanks that they are on the screen."""
    return text.replace(JOINT, " ")
