"""Moving in lists and texts: the same keys everywhere."""

from __future__ import annotations

from tui.app.command import Command

DOWN = Command("down", ("j", "down"), "down", "Down one line.", "move('down')", palette=False)
UP = Command("up", ("k", "up"), "up", "Up one line.", "move('up')", palette=False)
PAGE_DOWN = Command("page-down", ("pagedown",), "page down", "Down one screen.", "move('page-down')", palette=False)
PAGE_UP = Command("page-up", ("pageup",), "page up", "Up one screen.", "move('page-up')", palette=False)
TOP = Command("top", ("g", "home"), "top", "Go to the first line.", "move('top')", palette=False)
BOTTOM = Command(
    "bottom", ("G", "end"), "bottom", "Go to the last line; in the log, follow it.", "move('bottom')", palette=False
)
LEFT = Command(
    "left", ("left",), "left", "Back to the beginning of the lines; in the log.", "move('left')", palette=False
)
RIGHT = Command(
    "right", ("right",), "right", "On to the rest of long lines; in the log.", "move('right')", palette=False
)

MOVES = (DOWN, UP, PAGE_DOWN, PAGE_UP, TOP, BOTTOM)
MOVES_SIDEWAYS = (LEFT, RIGHT)
