"""What a person can do in the boxes over the dashboard: question, launch form, attempts, help."""

from __future__ import annotations

from tui.app.command import Command
from tui.app.commands.general import ON_EVERY_SCREEN, REDRAW
from tui.app.commands.moves import MOVES

YES = Command("question.yes", ("y",), "yes", "Answer yes.", "answer(True)", footer=1, palette=False)
NO = Command("question.no", ("n", "escape", "q"), "no", "Answer no.", "answer(False)", footer=2, palette=False)
OTHER_ANSWER = Command(
    "question.other",
    ("left", "right", "h", "l"),
    "other answer",
    "Go to the other answer.",
    "app.focus_next",
    palette=False,
)
GIVE_ANSWER = Command(
    "question.answer",
    ("enter",),
    "answer",
    "Give the answer that has the keys; at first that is no.",
    "press",
    palette=False,
    is_fixed=True,
)

QUESTION = (YES, NO, GIVE_ANSWER, OTHER_ANSWER, REDRAW)

TO_THE_FIELDS = Command(
    "form.enter",
    ("enter",),
    "form, then launch",
    "On to the fields; from there, launch.",
    "select",
    footer=1,
    palette=False,
    changes=True,
    is_fixed=True,
)
CHANGE_FLAGS = Command("form.flags", ("e",), "flags", "Change the preset's flags first.", "adjust", footer=2)
NEXT_FIELD = Command(
    "form.next",
    ("tab",),
    "next field",
    "Go to the next field; Shift-Tab goes back.",
    "app.focus_next",
    footer=3,
    palette=False,
)
LEAVE_FORM = Command("form.leave", ("escape",), "leave", "Leave; nothing is launched.", "leave", footer=4)

FORM = (TO_THE_FIELDS, CHANGE_FLAGS, NEXT_FIELD, LEAVE_FORM, *MOVES, *ON_EVERY_SCREEN)

SHOW_THEN_SAVE = Command(
    "saving.enter",
    ("enter",),
    "show, then save",
    "Show what would be saved; then save it.",
    "submit",
    footer=1,
    palette=False,
    is_fixed=True,
)
LEAVE_SAVING = Command("saving.leave", ("escape",), "leave", "Leave; nothing is saved.", "leave", footer=2)

SAVING = (SHOW_THEN_SAVE, LEAVE_SAVING, *MOVES, *ON_EVERY_SCREEN)

SHOW_ATTEMPT = Command("past.log", ("enter",), "its log", "Show the log of this attempt.", "choose", footer=1)
CLOSE_ATTEMPTS = Command(
    "past.close", ("escape", "q", "H", "p"), "back", "Back to where you were.", "dismiss(None)", footer=2
)

PAST_ATTEMPTS = (SHOW_ATTEMPT, CLOSE_ATTEMPTS, *MOVES, *ON_EVERY_SCREEN)

CLOSE_HELP = Command(
    "reading.close",
    ("escape", "q", "?", "f1", "enter"),
    "close",
    "Back to where you were.",
    "dismiss",
    footer=1,
    palette=False,
)

HELP_PAGE = (CLOSE_HELP, *MOVES, REDRAW)
