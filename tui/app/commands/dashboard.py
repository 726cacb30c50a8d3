"""What a person can do on the dashboard, whichever panel has the keys."""

from __future__ import annotations

from tui.app.command import Command, Situation
from tui.app.commands.general import HELP, PALETTE, QUIT, REDRAW, THEME
from tui.app.commands.moves import MOVES, MOVES_SIDEWAYS
from tui.app.commands.obstacles import nobody, not_ours_to_end, not_ours_to_relaunch, not_to_be_tested
from tui.keeper.states import State

LAUNCH = Command("launch", ("a",), "launch", "Launch a server from a preset.", "app.launch", footer=10, changes=True)
RELAUNCH = Command(
    "relaunch",
    ("r",),
    "relaunch",
    "Launch it again as it is; asks first if it runs.",
    "relaunch",
    footer=90,
    changes=True,
    obstacle=not_ours_to_relaunch,
)
ADJUST = Command(
    "adjust",
    ("R",),
    "adjust",
    "Change its flags, see what they take, launch it again.",
    "adjust",
    footer=50,
    obstacle=not_ours_to_relaunch,
)
GO_BACK = Command(
    "go-back",
    ("b",),
    "what worked",
    "Go back to the flags that last became ready; asks first.",
    "go_back",
    changes=True,
    obstacle=not_ours_to_relaunch,
)
SAVE_PRESET = Command(
    "save-preset",
    ("s",),
    "save preset",
    "Save its launch as a preset, with its proof.",
    "save_preset",
    footer=110,
    changes=True,
    obstacle=nobody,
)
TEST = Command(
    "test",
    ("t",),
    "test",
    "Test a ready server with one small request.",
    "test",
    changes=True,
    obstacle=not_to_be_tested,
)


def _is_stopping(situation: Situation) -> str | None:
    """Only a living server of this machine can be stopped, and once is enough."""
    if (why := not_ours_to_end(situation)) is not None:
        return why
    one = situation.selected
    if one is not None and (one.state is State.STOPPING or one.name in situation.stopping):
        return f"{one.name} is already stopping; {situation.keys.first(KILL) or 'the palette'} kills it"
    return None


STOP = Command(
    "stop",
    ("x", "f9"),
    "stop",
    "Stop the selected server; asks first.",
    "stop",
    footer=20,
    changes=True,
    obstacle=_is_stopping,
)
KILL = Command(
    "kill",
    ("X",),
    "kill",
    "Kill the selected server at once; asks twice.",
    "kill",
    footer=100,
    changes=True,
    obstacle=not_ours_to_end,
)
SHOW_LOG = Command(
    "show-log",
    ("l", "enter"),
    "log",
    "Show the log alone, or everything again.",
    "show_log",
    footer=60,
    obstacle=nobody,
)
FOLLOW = Command(
    "follow", ("F",), "follow", "Follow the end of the log, or stay.", "follow", footer=70, obstacle=nobody
)
ATTEMPTS = Command(
    "attempts", ("H",), "attempts", "Show the attempts at the selected server.", "history", obstacle=nobody
)

ZOOM = Command("zoom", ("z",), "zoom", "Show the focused panel alone, or everything again.", "zoom", footer=80)
GROW = Command("grow", ("+",), "grow", "Give the focused panel a larger part of the screen.", "resize_panel(1)")
SHRINK = Command("shrink", ("-",), "shrink", "Give the focused panel a smaller part of the screen.", "resize_panel(-1)")
HIDE = Command("hide", ("Z",), "hide", "Hide the focused panel; its number brings it back.", "hide_panel")
NEXT_PANEL = Command("next-panel", ("tab",), "next panel", "Go to the next panel.", "next_panel", palette=False)
PREVIOUS_PANEL = Command(
    "previous-panel", ("shift+tab",), "previous panel", "Go to the panel before.", "next_panel(-1)", palette=False
)
GO_TO_GPUS = Command("gpus", ("1",), "GPUs", "Go to the GPUs.", "focus_panel('gpus')")
GO_TO_SERVERS = Command("servers", ("2",), "servers", "Go to the servers.", "focus_panel('servers')")
GO_TO_LOG = Command("log-panel", ("3",), "log panel", "Go to the log.", "focus_panel('log')")
GO_TO_BUDGET = Command("budget", ("4",), "budget", "Go to the budget.", "focus_panel('budget')")
GO_TO_FINDING = Command(
    "finding-panel", ("5",), "finding", "Go to what was found: why it failed.", "focus_panel('finding')"
)
GO_TO_LIVE = Command(
    "live-panel", ("6",), "live", "Go to what it does: what limits it, and its last hour.", "focus_panel('live')"
)
BACK = Command(
    "back", ("escape",), "back", "Show everything again; else clear the messages below.", "back", palette=False
)

DASHBOARD = (
    LAUNCH,
    RELAUNCH,
    ADJUST,
    GO_BACK,
    SAVE_PRESET,
    TEST,
    STOP,
    KILL,
    SHOW_LOG,
    FOLLOW,
    ATTEMPTS,
    ZOOM,
    GROW,
    SHRINK,
    HIDE,
    NEXT_PANEL,
    PREVIOUS_PANEL,
    GO_TO_GPUS,
    GO_TO_SERVERS,
    GO_TO_LOG,
    GO_TO_BUDGET,
    GO_TO_FINDING,
    GO_TO_LIVE,
    *MOVES,
    *MOVES_SIDEWAYS,
    BACK,
    PALETTE,
    REDRAW,
    THEME,
    HELP,
    QUIT,
)
