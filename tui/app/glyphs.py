"""The signs of the screen, for terminals with Unicode and without, and text made fit to stand beside them."""

from __future__ import annotations

from msgspec import Struct
from rich.cells import cell_len, set_cell_size

from tui.keeper.states import State


class Glyphs(Struct, frozen=True):
    """The few signs that aren't letters, in two sets."""

    ascii_only: bool
    pointer: str
    rule: str
    dot: str
    free: str
    overflow: str
    level: str
    edge: str
    wall: str
    ellipsis: str
    degrees: str
    problem: str
    done: str
    states: dict[State, str]

    def plain(self, text: str) -> str:
        r"""Text from outside, on one line and safe to draw: what doesn't print is shown as its escape (`\x1b`)."""
        if text.isprintable() and (text.isascii() or not self.ascii_only):  # nearly all of it
            return text
        line = " ".join(text.splitlines()) if "\n" in text else text
        shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)
        return shown.encode("ascii", "backslashreplace").decode() if self.ascii_only else shown

    def fit(self, text: str, width: int) -> str:
        """At most `width` cells of the text; an ellipsis stands for the rest, and no number is cut in two."""
        if cell_len(text) <= width:
            return text
        room = width - cell_len(self.ellipsis)
        if room <= 0:
            return self.ellipsis[: max(0, width)]
        return _whole_words(text, set_cell_size(text, room)) + self.ellipsis


def _whole_words(text: str, kept: str) -> str:
    """The beginning of a text without a piece of a word at its end, nor of a number where it is all one word."""
    rest = text[len(kept) :]
    if not rest.startswith(" ") and " " in kept[len(kept) // 2 :]:
        kept = kept[: kept.rindex(" ")]
    elif rest[:1].isdigit() or kept[-1:] in ".,":
        kept = kept.rstrip("0123456789.,")
    return kept.rstrip(" ,;")


UNICODE = Glyphs(
    ascii_only=False,
    pointer="▸",
    rule="──",
    dot="·",
    free="·",
    overflow="▶",
    level="▇",
    edge="",
    wall="│",
    ellipsis="…",
    degrees="°C",
    problem="✗",
    done="✓",
    states={
        State.PENDING: "◌",
        State.STARTING: "○",
        State.LOADING: "◐",
        State.READY: "●",
        State.STOPPING: "◑",
        State.STOPPED: "■",
        State.EXITED: "□",
        State.FAILED: "✗",
        State.LOST: "?",
    },
)

ASCII = Glyphs(
    ascii_only=True,
    pointer=">",
    rule="--",
    dot="-",
    free=".",
    overflow=">",
    level="=",
    edge="|",
    wall="|",
    ellipsis="..",
    degrees="C",
    problem="!",
    done="+",
    states={
        State.PENDING: ".",
        State.STARTING: "o",
        State.LOADING: "~",
        State.READY: "*",
        State.STOPPING: "/",
        State.STOPPED: "-",
        State.EXITED: "=",
        State.FAILED: "!",
        State.LOST: "?",
    },
)
