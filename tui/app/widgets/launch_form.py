"""A list of presets above a few fields; the fields start from what the highlighted preset says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Input, Label, OptionList, Static
from textual.widgets.option_list import Option

from tui.app.core import LaunchRequest
from tui.app.glyphs import Glyphs
from tui.app.notices import Trouble, trouble_of
from tui.app.preset_words import Judged, preset_facts, preset_prompt, problems_content
from tui.app.proposals import FieldError, Fields, propose, read_request
from tui.app.widgets.text_line import TextLine
from tui.observe import Instance
from tui.presets.proof import Here, standing_of

if TYPE_CHECKING:
    from tui.presets import Preset, PresetProblem

_NO_PRESETS = "No presets yet. `sgltui preset import` makes one from a command line that you paste."


class PresetList(OptionList, inherit_bindings=False):
    """Its keys are the screen's, but for the one that goes on."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "select", show=False)]


class LaunchForm(Vertical):
    """What can be launched, and as what.

    Args:
        instances: what runs now, so that a free name and port are proposed.
        standings: how far each preset can be trusted here, by its name.
    """

    def __init__(
        self,
        presets: Sequence[Preset],
        problems: Sequence[PresetProblem],
        instances: Sequence[Instance],
        standings: Mapping[str, Judged],
        glyphs: Glyphs,
    ) -> None:
        super().__init__()
        self._presets = presets
        self._problems = problems
        self._instances = instances
        self._standings = standings
        self._glyphs = glyphs
        self._filled_from: str | None = None

    def compose(self) -> ComposeResult:
        """List, details, fields, what is said about them, and which presets are broken."""
        if self._presets:
            yield PresetList(*map(Option, self._prompts(0)), id="presets")
            yield from self._facts()
            yield from self._fields()
        else:
            yield Static(Content(_NO_PRESETS), markup=False)
        yield TextLine(id="answer")
        if self._problems:
            yield Static(problems_content(self._problems, self._glyphs), id="problems", markup=False)

    def on_mount(self) -> None:
        """The first preset is as good as any."""
        if self._presets:
            chooser = self.query_one(PresetList)
            chooser.highlighted = 0
            chooser.focus()

    def renew(
        self, presets: Sequence[Preset], problems: Sequence[PresetProblem], standings: Mapping[str, Judged]
    ) -> None:
        """List what is there now; what was chosen and typed stays."""
        self._standings = standings
        for static in self.query("#problems"):
            static.remove()
        if problems:
            self.mount(Static(problems_content(problems, self._glyphs), id="problems", markup=False))
        for chooser in self.query(PresetList) if presets else ():
            chosen = self._presets[chooser.highlighted or 0].name
            self._presets = presets
            position = next((at for at, preset in enumerate(presets) if preset.name == chosen), 0)
            chooser.clear_options()
            chooser.add_options([Option(prompt) for prompt in self._prompts(position)])
            chooser.highlighted = position

    def read(self) -> LaunchRequest:
        """What is asked for.

        Raises:
            FieldError: a field can't be used.
        """
        preset = self._presets[self.query_one(PresetList).highlighted or 0]
        return read_request(preset, Fields(*(self._field(name).value for name in ("name", "port", "gpus"))))

    def wish(self) -> LaunchRequest | Trouble:
        """What the budget of is asked for: the preset and its GPUs alone; or what is wrong with those."""
        preset = self._presets[self.query_one(PresetList).highlighted or 0]
        try:
            return read_request(preset, Fields("", "", self._field("gpus").value))
        except FieldError as error:
            return trouble_of(error)

    def go_to(self, field: str) -> None:
        """Put the cursor into a field."""
        self._field(field).focus()

    def answer(self, content: Content) -> None:
        """Say this below the fields, in view."""
        line = self.query_one("#answer", TextLine)
        line.show(content)
        self.call_after_refresh(line.scroll_visible, animate=False)

    @on(OptionList.OptionHighlighted)
    def _start_from(self, event: OptionList.OptionHighlighted) -> None:
        """Fill the fields from this preset, unless it is the one that they were filled from."""
        if event.option_index >= len(self._presets):  # of a list that was longer
            return
        preset = self._presets[event.option_index]
        for position, prompt in enumerate(self._prompts(event.option_index)):
            event.option_list.replace_option_prompt_at_index(position, prompt)
        for fact, words in preset_facts(preset, self._judged(preset)).items():
            self.query_one(f"#fact-{fact}", Static).update(Content(self._glyphs.plain(words)))
        proposal = propose(preset, self._instances)
        for name in ("name", "port", "gpus") if preset.name != self._filled_from else ():
            self._field(name).value = getattr(proposal, name)
        self._filled_from = preset.name

    @on(OptionList.OptionSelected)
    def _go_on(self) -> None:
        self.go_to("name")

    def _judged(self, preset: Preset) -> Judged:
        return self._standings.get(preset.name) or standing_of(preset, Here())

    def _field(self, name: str) -> Input:
        return self.query_one(f"#field-{name}", Input)

    def _facts(self) -> ComposeResult:
        with Vertical(id="facts"):
            for fact in ("model", "flags", "note"):
                with Horizontal(classes="fact"):
                    yield Label(Content(fact))
                    yield Static(id=f"fact-{fact}", markup=False)

    def _fields(self) -> ComposeResult:
        hints = {"name": "the preset's", "port": "the first free one", "gpus": "chosen at launch, like 0,1"}
        labels = {"name": "name", "port": "port", "gpus": "GPUs"}
        for field, hint in hints.items():
            box = Input(id=f"field-{field}", placeholder=hint, restrict=r"[0-9]*" if field == "port" else None)
            box.cursor_blink = False  # nothing moves on this screen by itself
            with Horizontal(classes="field"):
                yield Label(Content(labels[field]))
                yield box

    def _prompts(self, highlighted: int) -> list[Content]:
        width = max(cell_len(self._glyphs.plain(preset.name)) for preset in self._presets)
        return [
            preset_prompt(preset, self._judged(preset), width, self._glyphs, marked=position == highlighted)
            for position, preset in enumerate(self._presets)
        ]
