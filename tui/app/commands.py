"""What a person can do, each declared once: keys, footer, palette, help and availability come from here."""

from __future__ import annotations

from textual.binding import Binding

from tui.app.command import Command, Situation
from tui.keeper.states import ALIVE, State


class Launch(Command):
    """Launch a server from a preset."""

    keys = ("a",)
    label = "launch"
    action = "app.launch"
    footer = 1
    changes = True


class Relaunch(Command):
    """Launch it again as it is; asks first if it runs."""

    keys = ("r",)
    label = "relaunch"
    action = "relaunch"
    footer = 9
    changes = True

    @classmethod
    def obstacle(cls, situation: Situation) -> str | None:
        """Only a server of this machine that isn't on its way out."""
        return _not_ours_to_relaunch(situation)


class Adjust(Command):
    """Change its flags, see what they take, launch it again."""

    keys = ("R",)
    label = "adjust"
    action = "adjust"
    footer = 5

    @classmethod
    def obstacle(cls, situation: Situation) -> str | None:
        """Only a server of this machine that isn't on its way out."""
        return _not_ours_to_relaunch(situation)


class GoBack(Command):
    """Go back to the flags that last became ready; asks first."""

    keys = ("b",)
    label = "what worked"
    action = "go_back"
    changes = True

    @classmethod
    def obstacle(cls, situation: Situation) -> str | None:
        """Only a server of this machine that isn't on its way out."""
        return _not_ours_to_relaunch(situation)


class Test(Command):
    """Test a ready server with one small request."""

    keys = ("t",)
    label = "test"
    action = "test"

    @classmethod
    def obstacle(cls, situation: Situation) -> str | None:
        """Only a ready server of this machine answers."""
        selected = situation.selected
        if selected is None:
            return _nobody(situation)
        if not selected.local:
            return f"{selected.name} runs on {selected.host}; test it there"
        return None if selected.state is State.READY else f"{selected.name} isn't ready: it is {selected.state}"


class Stop(Command):
    """Stop the selected server; asks first."""

    keys = ("x", "f9")
    label = "stop"
    action = "stop"
    footer = 2
    changes = True

    @classmethod
    def obstacle(cls, situation: Situation) -> str | None:
        """Only a living server of this machine can be stopped, and once is enough."""
        if (why := _not_ours_to_end(situation)) is not None:
            return why
        one = situation.selected
        if one is not None and (one.state is State.STOPPING or one.name in situation.stopping):
            return f"{one.name} is already stopping; X kills it"
        return None


class Kill(Command):
    """Kill the selected server at once; asks twice."""

    keys = ("X",)
    label = "kill"
    action = "kill"
    footer = 10
    changes = True

    @classmethod
    def obstacle(cls, situation: Situation) -> str | None:
        """Only a living server of this machine can be killed."""
        return _not_ours_to_end(situation)


class ShowLog(Command):
    """Show the log alone, or everything again."""

    keys = ("l", "enter")
    label = "log"
    action = "show_log"
    footer = 6

    @classmethod
    def obstacle(cls, situation: Situation) -> str | None:
        """A log is somebody's."""
        return _nobody(situation) if situation.selected is None else None


class Follow(Command):
    """Follow the end of the log, or stay."""

    keys = ("F",)
    label = "follow"
    action = "follow"
    footer = 7


class Zoom(Command):
    """Show the focused panel alone, or everything again."""

    keys = ("z",)
    label = "zoom"
    action = "zoom"
    footer = 8


class FocusGpus(Command):
    """Go to the GPUs."""

    keys = ("1",)
    label = "GPUs"
    action = "focus_panel('gpus')"


class FocusServers(Command):
    """Go to the servers."""

    keys = ("2",)
    label = "servers"
    action = "focus_panel('servers')"


class FocusLog(Command):
    """Go to the log."""

    keys = ("3",)
    label = "log panel"
    action = "focus_panel('log')"


class FocusBudget(Command):
    """Go to the budget."""

    keys = ("4",)
    label = "budget"
    action = "focus_panel('budget')"


class FocusFinding(Command):
    """Go to what was found: why it failed."""

    keys = ("5",)
    label = "finding"
    action = "focus_panel('finding')"


class History(Command):
    """Show the attempts at the selected server."""

    keys = ("H",)
    label = "attempts"
    action = "history"

    @classmethod
    def obstacle(cls, situation: Situation) -> str | None:
        """Somebody's."""
        return _nobody(situation) if situation.selected is None else None


class NextPanel(Command):
    """Go to the next panel; Shift-Tab goes back."""

    keys = ("tab",)
    label = "next panel"
    action = "next_panel"
    palette = False


class Down(Command):
    """Down one line."""

    keys = ("j", "down")
    label = "down"
    action = "move('down')"
    palette = False


class Up(Command):
    """Up one line."""

    keys = ("k", "up")
    label = "up"
    action = "move('up')"
    palette = False


class Left(Command):
    """Back to the beginning of the lines; in the log."""

    keys = ("left",)
    label = "left"
    action = "move('left')"
    palette = False


class Right(Command):
    """On to the rest of long lines; in the log."""

    keys = ("right",)
    label = "right"
    action = "move('right')"
    palette = False


class Top(Command):
    """Go to the first line."""

    keys = ("g", "home")
    label = "top"
    action = "move('top')"
    palette = False


class Bottom(Command):
    """Go to the last line; in the log, follow it."""

    keys = ("G", "end")
    label = "bottom"
    action = "move('bottom')"
    palette = False


class Back(Command):
    """Show everything again; else clear the messages below."""

    keys = ("escape",)
    label = "back"
    action = "back"
    palette = False


class Palette(Command):
    """Find a command by its name."""

    keys = (":", "ctrl+p")
    label = "palette"
    action = "app.command_palette"
    palette = False


class Theme(Command):
    """Choose the colours."""

    keys = ()
    label = "theme"
    action = "app.change_theme"


class Help(Command):
    """Show the keys and what the signs mean."""

    keys = ("?", "f1")
    label = "help"
    action = "help"
    footer = 3


class Quit(Command):
    """Leave; servers go on running."""

    keys = ("q", "f10")
    label = "quit"
    action = "app.quit"
    footer = 4


COMMANDS: tuple[type[Command], ...] = (
    Launch,
    Relaunch,
    Adjust,
    GoBack,
    Test,
    Stop,
    Kill,
    ShowLog,
    Follow,
    Zoom,
    NextPanel,
    FocusGpus,
    FocusServers,
    FocusLog,
    FocusBudget,
    FocusFinding,
    History,
    Down,
    Up,
    Left,
    Right,
    Top,
    Bottom,
    Back,
    Palette,
    Theme,
    Help,
    Quit,
)


def all_bindings() -> list[Binding]:
    """Bindings of every command."""
    return [binding for command in COMMANDS for binding in command.bindings()]


def _nobody(situation: Situation) -> str:
    if situation.broken is None:
        return "no server is selected"
    return f"the record of {situation.broken} can't be read; it is left alone"


def _not_ours_to_end(situation: Situation) -> str | None:
    selected = situation.selected
    if selected is None:
        return _nobody(situation)
    if not selected.local:
        return f"{selected.name} runs on {selected.host}; end it there"
    if selected.state not in ALIVE and not selected.members:
        return f"{selected.name} has ended already"
    return None


def _not_ours_to_relaunch(situation: Situation) -> str | None:
    selected = situation.selected
    if selected is None:
        return _nobody(situation)
    if not selected.local:
        return f"{selected.name} was launched on {selected.host}; relaunch it there"
    if selected.state is State.STOPPING or selected.name in situation.stopping:
        return f"{selected.name} is stopping; relaunch it when it is gone"
    return None
