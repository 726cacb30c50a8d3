"""How the log view looks."""

from __future__ import annotations

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
