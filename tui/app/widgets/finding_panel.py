"""What is the matter with the selected server, in the place of its budget: what happened, and what helps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import ClassVar

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content

from tui.app.command import Command, bindings
from tui.app.commands.finding import FINDING, TO_THE_LINE
from tui.app.findings import Findings
from tui.app.glyphs import Glyphs
from tui.app.keys import keys_of
from tui.app.keys_line import key_content
from tui.app.widgets.finding_lines import attempt_number, finding_lines
from tui.app.widgets.text_line import TextLine
from tui.diagnosis.brief import exit_words
from tui.keeper.states import ALIVE, State
from tui.launch.explanation import Explanation
from tui.observe import Instance
from tui.units import format_duration

_FRAME_CELLS = 4  # corners and blanks that a border's title leaves
_NAME_LEAST = 10


class FindingText(VerticalScroll, can_focus=True, inherit_bindings=False):
    """Scrolls, and has the keys."""

    COMMAND_LIST = FINDING
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(FINDING)]

    has_line = False  # of the log, that says what happened

    def is_idle(self, command: Command) -> bool:
        """There is no line to go to."""
        return command is TO_THE_LINE and not self.has_line


class FindingPanel(Vertical):
    """Shows what was found of the selected server; it knows nothing by itself."""

    DEFAULT_CSS = """
    FindingPanel FindingText { height: 1fr; scrollbar-size-vertical: 1; scrollbar-gutter: stable; }
    FindingPanel #finding-keys { display: none; text-wrap: nowrap; }
    FindingPanel:focus-within #finding-keys { display: block; }
    """

    def __init__(self, glyphs: Glyphs, *, id: str, classes: str) -> None:  # noqa: A002 Textual's own name
        super().__init__(id=id, classes=classes)
        self._glyphs = glyphs
        self._one: Instance | None = None
        self._found: Explanation | None = None
        self._words = ""
        self._hint = ""
        self._adjust_key = ""
        self._title = ""

    def compose(self) -> ComposeResult:
        """One text, and the keys below it."""
        with FindingText():
            yield TextLine(id="finding-text")
        yield TextLine(id="finding-keys")

    def show(self, one: Instance | None, findings: Findings, absent: str, *, hint: str, adjust_key: str = "") -> None:
        """Show what is known of this server; the hint, how to see what has its place else, ends the title.

        `adjust_key` launches it again with changes, where there is such a key.
        """
        found = findings.explanation
        if one is None or self._one is None or (one.name, one.launch) != (self._one.name, self._one.launch):
            self.query_one(FindingText).scroll_home(animate=False)
        trouble = findings.trouble
        words = f"{trouble.what}: {trouble.hint}" if trouble is not None else ""
        self._one, self._found, self._hint, self._adjust_key = one, found, hint, adjust_key
        self._words = words or (absent if one is None or not one.local else f"reading its log{self._glyphs.ellipsis}")
        self.query_one(FindingText).has_line = found is not None and found.root_offset is not None
        self._show_keys()
        self._draw()

    def on_mount(self) -> None:
        """Say what can be done."""
        self._show_keys()

    def on_resize(self) -> None:
        """Another width, other lines."""
        self._draw()

    def on_show(self) -> None:
        """Seen again, perhaps in its old size."""
        self.redraw()

    def redraw(self) -> None:
        """Draw what came while it was hidden; nothing was laid out or painted of that."""
        self._draw()
        self.query_one("#finding-text", TextLine).refresh(layout=True)

    def _show_keys(self) -> None:
        text, keys = self.query_one(FindingText), keys_of(self)
        ways = [(keys.first(command), command.label) for command in FINDING if not text.is_idle(command)]
        line = Content("   ").join(key_content(key, words) for key, words in ways if key)
        self.query_one("#finding-keys", TextLine).show(line)

    def _draw(self) -> None:
        region = self.query_one(FindingText).scrollable_content_region
        if region.width:
            self.query_one("#finding-text", TextLine).show(Content("\n").join(self._lines(region.width, region.height)))
        title = self._title_words()
        if title != self._title:
            self._title = title
            self.border_title = Content(title)

    def _lines(self, width: int, height: int) -> list[Content]:
        if self._found is None:
            return [Content.styled(self._glyphs.plain(self._words), "$quiet")]
        return finding_lines(self._found, width, height, self._glyphs, adjust_key=self._adjust_key)

    def _title_words(self) -> str:
        """Whose it is, which attempt, what became of it; the first that has no room goes, and what comes after it."""
        glyphs, rule = self._glyphs, f" {self._glyphs.rule} "
        tail = f"{rule}{self._hint} " if self._hint else " "
        if self._one is None:
            return f" Finding{tail}"
        room = self.size.width - cell_len(tail) - _FRAME_CELLS
        name = glyphs.plain(self._one.name)
        abouts = ["".join(f" {glyphs.dot} {fact}" for fact in facts) for facts in _shorter(self._facts(self._one))]
        about = next((about for about in abouts if len(" ") + cell_len(name) + cell_len(about) <= room), "")
        return f" {glyphs.fit(name, max(_NAME_LEAST, room - cell_len(about) - 1))}{about}{tail}"

    def _facts(self, one: Instance) -> list[str]:
        facts = [f"attempt {attempt_number(one.launch)}", _outcome(one)]
        answer = self._found.answer if self._found is not None else None
        if answer is None or one.state in ALIVE:
            return facts
        words = exit_words(answer.returncode, answer.failure, answer.outcome, has_root=answer.root_line is not None)
        return [*facts, words] if words else facts


def _shorter(facts: Sequence[str]) -> Iterator[Sequence[str]]:
    """All of them, then with shorter words for whose doing the end was, then one less each time."""
    yield facts
    *others, last = facts
    status, _, whose = last.partition(" (")
    if whose:
        yield [*others, f"{status} (its own; not the kernel)"]
        yield [*others, status]
    for count in range(len(others), 0, -1):
        yield facts[:count]
        yield [fact.partition(" after ")[0] for fact in facts[:count]]


def _outcome(one: Instance) -> str:
    """`failed 3 h ago after 41 s`, `ready`."""
    words = str(one.state)
    if one.state in ALIVE or one.state is State.LOST or one.ended_at is None:
        return words
    words += f" {format_duration((datetime.now(UTC) - one.ended_at).total_seconds())} ago"
    if one.started_at is not None:
        words += f" after {format_duration((one.ended_at - one.started_at).total_seconds())}"
    return words
