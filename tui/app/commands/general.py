"""What can be done on every screen."""

from __future__ import annotations

from tui.app.command import Command

HELP = Command(
    "help", ("?", "f1"), "help", "Show what can be done here, and what the signs mean.", "app.show_help", footer=30
)
PALETTE = Command(
    "palette", (":", "ctrl+p"), "palette", "Find a command by its name.", "app.command_palette", palette=False
)
REDRAW = Command(
    "redraw", ("ctrl+l",), "redraw", "Paint all of it again, where something else wrote over it.", "app.redraw"
)
THEME = Command("theme", (), "theme", "Choose the colours.", "app.change_theme")
QUIT = Command("quit", ("q", "f10"), "quit", "Leave; servers go on running.", "app.quit", footer=40)

ON_EVERY_SCREEN = (HELP, PALETTE, REDRAW)
