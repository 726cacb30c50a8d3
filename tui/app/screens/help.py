"""The keys that work here and now, and what the signs on the screen mean."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.content import Content

from tui.app.command import bindings
from tui.app.commands.dialogues import CLOSE_HELP, HELP_PAGE
from tui.app.glyphs import Glyphs
from tui.app.here import Usable
from tui.app.holders import FOREIGN, RESERVED, UNTOLD
from tui.app.keys import keys_of, written
from tui.app.keys_line import key_content
from tui.app.moving import move
from tui.app.screens.dialog import Dialog
from tui.app.widgets.budget_parts import KINDS
from tui.app.widgets.text_lines import TextLines
from tui.app.wrapping import wrapped
from tui.keeper.states import State

_GAP = "  "
_WIDTH, _MOST, _FRAME = 76, 0.96, 7  # of a dialogue, as in dialog.tcss: cells, share of the window, what isn't text
_WORDS_LEAST = 20


class HelpScreen(Dialog[None]):
    """Closes with the key that opened it, or any that means back. Is kept, and says something else the next time.

    Attributes:
        text: what it says.
    """

    COMMAND_LIST = HELP_PAGE
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(HELP_PAGE)]

    def __init__(self, glyphs: Glyphs) -> None:
        super().__init__(glyphs)
        self._places: Sequence[Sequence[Usable]] = ()
        self.text = ""

    def tell(self, places: Sequence[Sequence[Usable]]) -> None:
        """What works now, from the top of the page; to be said before it is on the screen."""
        self._places = places
        if self.is_mounted:
            self.query_one(TextLines).show(self._lines(self._width))
            self.query_one(HelpText).scroll_home(animate=False, immediate=True)

    def compose(self) -> ComposeResult:
        """One page that scrolls."""
        with HelpText(classes="dialog tall") as page:
            page.border_title = Content(" Help ")
            keys = key_content(keys_of(self).first(CLOSE_HELP), "closes")
            page.border_subtitle = Content.assemble(" ", keys, " ")
            text = TextLines(fills=False)
            text.show(self._lines(self._width))  # now: an empty page first costs as much as a full one
            yield text

    def on_resize(self) -> None:
        """Other lines where it is narrow."""
        before, width = self.text, self.query_one(HelpText).scrollable_content_region.width
        lines = self._lines(width)
        if self.text != before:
            self.query_one(TextLines).show(lines)

    @property
    def _width(self) -> int:
        """Of its lines, before they are laid out."""
        return min(_WIDTH, int(self.app.size.width * _MOST)) - _FRAME

    def _lines(self, width: int) -> list[Content]:
        lines = help_lines(self._places, width, self._glyphs)
        self.text = "\n".join(line.plain for line in lines)
        return lines

    async def action_move(self, direction: str) -> None:
        """Up and down the page."""
        await move(self.query_one(HelpText), direction)


class HelpText(VerticalScroll, inherit_bindings=False):
    """Its keys are the screen's."""


def help_lines(places: Sequence[Sequence[Usable]], width: int, glyphs: Glyphs) -> list[Content]:
    """What can be done here and now, the nearest first; then signs.

    Args:
        places: what works in the panel that has the keys, and on the screen around it.
        width: of the lines, in cells.
        glyphs: the signs of the screen.
    """
    states = [(f"{glyphs.states[state]} {state}", words) for state, words in _STATE_HELP.items()]
    signs = [
        ("A B C", "a server; the same letter stands before its name"),
        (FOREIGN, "a process that no server here has started"),
        (UNTOLD, "memory in use that the driver puts down to no process"),
        (RESERVED, "reserved by driver and firmware"),
        (glyphs.free, "free"),
        ("~71.8", "by difference: the driver doesn't name its processes"),
        ("at the end", "how busy and how full it was, the newest last"),
    ]
    blocks = (
        *_key_blocks(places),
        ("GPU bars", signs),
        ("Budget bars", _budget_signs(glyphs)),
        ("States", states),
    )
    return [line for title, entries in blocks for line in _block(title, entries, width, glyphs)]


def _key_blocks(places: Sequence[Sequence[Usable]]) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    told = set[str]()
    for position, commands in enumerate(places):
        entries = [
            (", ".join(map(written, one.keys)), one.command.help) for one in commands if one.command.id not in told
        ]
        told |= {one.command.id for one in commands}
        if entries:
            yield "Keys here" if position == 0 else "Keys of this screen", entries


def _budget_signs(glyphs: Glyphs) -> list[tuple[str, str]]:
    parts = [(kind.sign, kind.help) for kind in KINDS]
    return [*parts, (glyphs.overflow, "what doesn't fit"), (glyphs.free, "free, or kept out of the pools")]


_STATE_HELP = {
    State.STARTING: "its process runs and imports SGLang",
    State.LOADING: "weights, memory pools, CUDA graphs, warm-up",
    State.READY: "alive, on its port, and answering",
    State.STOPPING: "asked to stop; not all is gone yet",
    State.STOPPED: "ended because it was asked to",
    State.EXITED: "ended by itself, without an error",
    State.FAILED: "ended with an error; the last word says why",
    State.LOST: "gone, and nobody was there to see how",
}


def _block(title: str, entries: list[tuple[str, str]], width: int, glyphs: Glyphs) -> list[Content]:
    column = max(len(left) for left, _ in entries)
    lines = [Content.styled(title, "bold")]
    for left, right in entries:
        first, *rest = wrapped(right, max(_WORDS_LEAST, width - column - len(_GAP)), glyphs)
        lines.append(Content.assemble((f"{left:<{column}}", "bold $primary"), _GAP, first))
        lines += [Content(" " * column + _GAP + line) for line in rest]
    return [*lines, Content("")]
