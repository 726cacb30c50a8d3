"""Choosing a preset and changing what a launch of it starts from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.cells import cell_len
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Label, OptionList, Static
from textual.widgets.option_list import Option

from tui.app.core import LaunchRequest
from tui.app.notices import Trouble
from tui.app.proposals import propose
from tui.app.words import Glyphs
from tui.observe import Instance
from tui.presets import FlagValue, Preset, PresetProblem, Reference

_KEYS = "Enter: to the form, then launch   Tab: next field   Esc: leave"
_NO_PRESETS = "No presets yet. `sgltui preset import` makes one from a command line that you paste."


class PresetList(OptionList):
    """A list in which j and k are arrows, too."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "cursor_down", "down", show=False),
        Binding("k", "cursor_up", "up", show=False),
    ]


class LaunchScreen(ModalScreen[LaunchRequest | None]):
    """A list of presets above a small form; the form starts from what the highlighted preset says.

    Args:
        instances: what runs now, so that the form proposes a free name and port.
        typed, refusal: the request that was refused just now, and why; the form starts from it.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "leave", show=False),
    ]

    def __init__(
        self,
        presets: Sequence[Preset],
        problems: Sequence[PresetProblem],
        instances: Sequence[Instance],
        glyphs: Glyphs,
        *,
        typed: LaunchRequest | None = None,
        refusal: Trouble | None = None,
    ) -> None:
        super().__init__(classes="-ascii" if glyphs.ascii_only else None)
        self._presets = presets
        self._problems = problems
        self._instances = instances
        self._glyphs = glyphs
        self._typed = typed
        self._refusal = refusal

    def compose(self) -> ComposeResult:
        """List, details, fields, what was refused, and which presets are broken."""
        with VerticalScroll(classes="dialog form", can_focus=False) as box:
            box.border_title = Content(" Launch a server ")
            box.border_subtitle = Content(f" {_KEYS if self._presets else 'Esc: leave'} ")
            if self._presets:
                yield PresetList(*map(Option, self._prompts()), id="presets")
                yield from self._facts()
                yield from self._fields()
            else:
                yield Static(Content(_NO_PRESETS), markup=False)
            if self._refusal is not None:
                yield Static(trouble_content(self._refusal, self._glyphs), id="refusal", markup=False)
            if self._problems:
                yield Static(problems_content(self._problems, self._glyphs), id="problems", markup=False)

    def on_mount(self) -> None:
        """After a refusal the person is where they were: in the form."""
        if not self._presets:
            return
        chooser = self.query_one("#presets", PresetList)
        names = [preset.name for preset in self._presets]
        chooser.highlighted = names.index(self._typed.preset) if self._typed and self._typed.preset in names else 0
        (self._field("port") if self._refusal is not None else chooser).focus()

    @on(OptionList.OptionHighlighted)
    def _start_from(self, event: OptionList.OptionHighlighted) -> None:
        """Fill the form from this preset, or from what was typed for it before it was refused."""
        preset = self._presets[event.option_index]
        for position, prompt in enumerate(self._prompts()):
            event.option_list.replace_option_prompt_at_index(position, prompt)
        for fact, words in preset_facts(preset).items():
            self.query_one(f"#fact-{fact}", Static).update(Content(self._glyphs.plain(words)))
        proposal = propose(preset, self._instances)
        values = {"name": proposal.name, "port": proposal.port, "gpus": proposal.gpus}
        if self._typed is not None and self._typed.preset == preset.name:
            port = "" if self._typed.port is None else str(self._typed.port)
            values = {"name": self._typed.name or "", "port": port, "gpus": self._typed.gpus or ""}
        for field, value in values.items():
            self._field(field).value = value

    @on(OptionList.OptionSelected)
    def _go_to_form(self) -> None:
        self._field("name").focus()

    @on(Input.Submitted)
    def _submit(self) -> None:
        """Hand the request over; the screen is gone before a second Enter can reach it."""
        preset = self._presets[self.query_one("#presets", PresetList).highlighted or 0]
        name, port, gpus = (self._field(field).value.strip() for field in ("name", "port", "gpus"))
        self.dismiss(LaunchRequest(preset.name, name or None, gpus or None, int(port) if port else None))

    def action_leave(self) -> None:
        """Launch nothing."""
        self.dismiss(None)

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

    def _prompts(self) -> list[Content]:
        chooser = next(iter(self.query("#presets").results(PresetList)), None)
        highlighted = chooser.highlighted if chooser is not None else None
        width = max(cell_len(preset.name) for preset in self._presets)
        return [
            preset_prompt(preset, width, self._glyphs, marked=position == highlighted)
            for position, preset in enumerate(self._presets)
        ]


def preset_prompt(preset: Preset, width: int, glyphs: Glyphs, *, marked: bool) -> Content:
    """One preset on one line: its name, whether it was proved, what it is."""
    name = glyphs.plain(preset.name)
    status = preset.evidence.status if preset.evidence is not None else "untested"
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
    return " ".join(_flag_text(name, value) for name, value in preset.flags.items()) or "none"


def _flag_text(name: str, value: FlagValue) -> str:
    if value is True:
        return f"--{name}"
    if isinstance(value, Reference):
        return f"--{name} ({value.kind} {value.target})"
    words = value if isinstance(value, list) else [value]
    return f"--{name} {' '.join(map(str, words))}"


def trouble_content(trouble: Trouble, glyphs: Glyphs) -> Content:
    """What was refused, and what to do about it on the next line."""
    hint = f"\n  {glyphs.plain(trouble.hint)}" if trouble.hint else ""
    return Content.assemble((f"{glyphs.problem} {glyphs.plain(trouble.what)}", "bold $error"), hint)


def problems_content(problems: Sequence[PresetProblem], glyphs: Glyphs) -> Content:
    """Presets that can't be read; they hide no other."""
    return Content("\n").join(_problem_line(problem, glyphs) for problem in problems)


def _problem_line(problem: PresetProblem, glyphs: Glyphs) -> Content:
    name, message = glyphs.plain(problem.path.name), glyphs.plain(problem.message)
    return Content.assemble((f"{glyphs.problem} {name}", "$error"), f" {message}")
