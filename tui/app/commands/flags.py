"""What a person can do in the flag editor."""

from __future__ import annotations

from tui.app.command import Command
from tui.app.commands.general import ON_EVERY_SCREEN
from tui.app.commands.moves import MOVES

CHANGE = Command("flags.change", ("enter", "space"), "change", "Change the flag; a switch at once.", "pick", footer=1)
PROPOSALS = tuple(
    Command(
        f"flags.take-{number}",
        (str(number),),
        "take",
        f"Make the proposed change {number}.",
        f"take({number})",
        footer=2,
    )
    for number in (1, 2, 3)
)
KEEP_VALUE = Command(
    "flags.keep",
    ("enter",),
    "keep",
    "Keep the value that is typed.",
    "submit",
    footer=1,
    palette=False,
    is_fixed=True,
)
TO_THE_FLAG = Command(
    "flags.found",
    ("enter",),
    "to the flag",
    "Go to the first flag that is found.",
    "submit",
    footer=1,
    palette=False,
    is_fixed=True,
)
TAKE_GPUS = Command(
    "flags.take-gpus",
    ("enter",),
    "take",
    "Take the GPUs under the cursor; so does their letter. A digit begins to name others.",
    "select",
    footer=1,
    palette=False,
    is_fixed=True,
)
GO = Command(
    "flags.launch",
    ("R", "L"),
    "launch",
    "Launch it with these flags; asks if it runs.",
    "go",
    footer=3,
    changes=True,
)
UNDO = Command(
    "flags.undo",
    ("u", "delete", "backspace"),
    "undo",
    "Undo the change, or leave the flag out.",
    "undo",
    footer=4,
)
CHOOSE_GPUS = Command("flags.gpus", ("o",), "GPUs", "Choose other GPUs.", "gpus", footer=5)
SEARCH_FLAGS = Command("flags.search", ("/",), "search", "Look for a flag among all there are.", "search", footer=6)
WHOLE_COMMAND = Command(
    "flags.command", ("d",), "command", "Show the whole command, or only what changes.", "command", footer=7
)
OTHER_SIDE = Command(
    "flags.other-side", ("tab",), "other side", "Go to the budget, and back.", "other_side", palette=False
)
LEAVE_FLAGS = Command("flags.back", ("escape", "q"), "back", "Out of field, search, or the editor.", "back", footer=8)

FLAG_LIST = (CHANGE, *MOVES)
FLAG_VALUE = (KEEP_VALUE,)
FLAG_SEARCH = (TO_THE_FLAG,)
GPU_CHOICES = (TAKE_GPUS,)
FLAG_EDITOR = (
    *PROPOSALS,
    GO,
    UNDO,
    CHOOSE_GPUS,
    SEARCH_FLAGS,
    WHOLE_COMMAND,
    OTHER_SIDE,
    LEAVE_FLAGS,
    *MOVES,
    *ON_EVERY_SCREEN,
)
