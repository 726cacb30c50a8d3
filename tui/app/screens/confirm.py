"""A question before something can't be taken back. The default answer is no."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from msgspec import Struct
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Button, Static

from tui.app.command import bindings
from tui.app.commands.dialogues import NO, QUESTION, YES
from tui.app.glyphs import Glyphs
from tui.app.keys import keys_of
from tui.app.keys_line import key_content
from tui.app.screens.dialog import Dialog
from tui.app.words import format_indices
from tui.keeper.states import State
from tui.observe import Instance, Snapshot
from tui.units import format_duration, format_gib

_SERVING = frozenset({State.READY, State.STOPPING})


class Question(Struct, frozen=True):
    """What is asked.

    Attributes:
        facts: lines that name what is at stake.
        yes, no: the answers, in words that say what they do.
    """

    title: str
    facts: tuple[str, ...]
    yes: str
    no: str


class ConfirmScreen(Dialog[bool]):
    """Asks one question; only the key of `question.yes` says yes without moving."""

    COMMAND_LIST = QUESTION
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(QUESTION)]

    def __init__(self, question: Question, glyphs: Glyphs) -> None:
        super().__init__(glyphs)
        self._question = question

    def compose(self) -> ComposeResult:
        """Title, facts, two answers, and the keys."""
        plain = self._glyphs.plain
        with Vertical(classes="dialog") as box:
            box.border_title = Content(f" {plain(self._question.title)} ")
            yield Static(Content("\n").join(Content(plain(fact)) for fact in self._question.facts), markup=False)
            with Horizontal(classes="answers"):
                yield Button(Content(plain(self._question.no)), id="no", compact=True)
                yield Button(Content(plain(self._question.yes)), id="yes", compact=True)
            yield Static(id="answer-keys", markup=False)

    def on_mount(self) -> None:
        """Enter says no."""
        self.query_one("#no", Button).focus()

    def on_descendant_focus(self) -> None:
        """Enter gives the answer that has the keys."""
        keys, is_yes = keys_of(self), self.focused is self.query_one("#yes")
        ways = [(keys.words(command), command) for command in (YES, NO)]
        enter = YES if is_yes else NO
        told = [
            key_content(", ".join(filter(None, (words, "Enter" if command is enter else ""))), command.label)
            for words, command in ways
        ]
        self.query_one("#answer-keys", Static).update(Content("   ").join(told))

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """The answer that has the focus, or was clicked."""
        self.dismiss(event.button.id == "yes")

    def action_answer(self, yes: bool) -> None:
        """Answer."""
        self.dismiss(yes)


def stop_questions(
    instance: Instance, snapshot: Snapshot | None, grace_s: float, *, kill: bool
) -> tuple[Question, ...]:
    """Name the server, its pid, GPUs and GiB, and what will happen to requests; a kill is asked about twice.

    Args:
        instance: the server.
        snapshot: the machine it is on.
        grace_s: how long a stop lets requests run.
        kill: it shall be killed.
    """
    name, verb = instance.name, "Kill" if kill else "Stop"
    facts = (_holds(instance, snapshot), _consequence(instance, grace_s, kill=kill))
    first = Question(f"{verb} {name}?", facts, f"Yes, {verb.lower()} it", "No, keep it")
    if not kill:
        return (first,)
    warning = (f"{name} gets no chance to finish anything.", "A stop would let it.")
    return first, Question(f"Really kill {name}?", warning, "Yes, kill it now", "No, keep it")


def relaunch_question(
    instance: Instance, snapshot: Snapshot | None, grace_s: float, difference: Sequence[str] = ()
) -> Question:
    """What runs has to go first; what changes stands below."""
    facts = (_holds(instance, snapshot), _consequence(instance, grace_s, kill=False), *difference)
    return Question(f"Stop {instance.name} and launch it anew?", facts, "Yes, relaunch it", "No, keep it")


def back_question(name: str, launch: str, difference: Sequence[str]) -> Question:
    """Going back to what worked."""
    facts = (f"{launch} became ready; its flags, against the newest launch's:", *difference)
    return Question(f"Launch {name} with the flags that worked?", facts, "Yes, go back", "No")


def leave_question(busy: Sequence[str]) -> Question:
    """Leaving while something is under way: it goes on, but nobody tells how it ends."""
    facts = (*busy, "It goes on without this screen; `sgltui ps` shows how it ended.")
    return Question("Leave now?", facts, "Yes, leave", "No, wait here")


def _consequence(instance: Instance, grace_s: float, *, kill: bool) -> str:
    known = _requests_in_flight(instance)
    if kill:
        lost = known if known is not None else "running requests" if instance.state in _SERVING else ""
        return f"SIGKILL to all of its processes, now{f'; that loses {lost}' if lost else ''}."
    if instance.state is not State.READY:
        return "It isn't ready: no requests are lost."
    if known == "":
        return f"It has no requests now; those that come until it ends get {grace_s:g} s."
    what = (known or "running requests").capitalize()
    return f"{what} {'get' if what.endswith('s') else 'gets'} {grace_s:g} s to finish; what still runs then is killed."


def _requests_in_flight(instance: Instance) -> str | None:
    """`6 running and 2 waiting requests`, empty where there are none, None where nobody tells."""
    live = instance.live
    if live is None or live.running is None:
        return None
    counts = ((live.running, "running"), (live.queued or 0, "waiting"))
    words = " and ".join(f"{count} {what}" for count, what in counts if count)
    is_one = live.running + (live.queued or 0) == 1
    return f"{words} request{'' if is_one else 's'}" if words else ""


def _holds(instance: Instance, snapshot: Snapshot | None) -> str:
    indices = {gpu.uuid: gpu.index for gpu in snapshot.gpus.gpus} if snapshot is not None else {}
    gpus = format_indices(indices[uuid] for uuid in instance.gpus if uuid in indices)
    where = f"GPU {gpus}" if gpus else "no GPU that can be read"
    pid = f"pid {instance.pid}" if instance.pid is not None else "pid unknown"
    about = "about " if instance.memory_by_difference else ""
    size = format_gib(instance.memory_bytes)
    holds = "memory unknown" if instance.memory_bytes is None else f"holds {about}{size} GiB"
    since = f", up {format_duration(instance.uptime_s)}" if instance.uptime_s is not None else ""
    return f"{pid} on {where} {holds}{since}."
