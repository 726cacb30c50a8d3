"""How the log view looks, and the keys that move in it."""

from __future__ import annotations

from textual.binding import Binding, BindingType

LOG_CSS = """
LogPane {
    background: $background;
    overflow-x: hidden;
    overflow-y: scroll;
    scrollbar-size-vertical: 1;
}
LogPane > .log-view--time { color: $text-muted; }
LogPane > .log-view--ranks { color: $text-accent; }
LogPane > .log-view--access { color: $text-muted; }
LogPane > .log-view--warning { color: $text-warning; }
LogPane > .log-view--error { color: $text-error; text-style: bold; }
LogPane > .log-view--memory { color: $text-error; text-style: bold underline; }
LogPane > .log-view--root { background: $error; color: $background; text-style: bold; }
LogPane > .log-view--consequence { color: $text-error; text-style: dim; }
LogPane > .log-view--finding { color: $text-warning; }
LogPane > .log-view--traceback { color: $text-error; }
LogPane > .log-view--ready { text-style: bold; }
LogPane > .log-view--notice { color: $text-muted; }
LogPane > .log-view--match { background: $warning; color: $background; text-style: bold; }
LogPane > .log-view--selected { background: $primary 30%; }
"""

LOG_MOVES: list[BindingType] = [
    Binding("up,k", "scroll_up", "Up", id="log.up", show=False),
    Binding("down,j", "scroll_down", "Down", id="log.down", show=False),
    Binding("pageup", "page_up", "Page up", id="log.page-up", show=False),
    Binding("pagedown", "page_down", "Page down", id="log.page-down", show=False),
    Binding("home,g", "scroll_home", "First line", id="log.first", show=False),
    Binding("end,G", "scroll_end", "Follow the end", id="log.last", show=False),
    Binding("left", "scroll_left", "Left", id="log.left", show=False),
    Binding("right", "scroll_right", "Right", id="log.right", show=False),
    Binding("F", "toggle_following", "Follow", id="log.follow", show=False, tooltip="Follow the log's end, or stop"),
]
