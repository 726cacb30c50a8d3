"""What a person can do while the log has the keys."""

from __future__ import annotations

from tui.app.command import Command

SEARCH = Command("log.search", ("/",), "search", "Search the log.", "ask('search')", footer=61)
NEXT_MATCH = Command("log.next-match", ("n",), "next match", "Go to the next match below.", "again(False)")
PREVIOUS_MATCH = Command("log.previous-match", ("N",), "previous match", "Go to the next match above.", "again(True)")
FILTER = Command("log.filter", ("&",), "filter", "Show only lines that match.", "ask('filter')", footer=63)
HIDE_ACCESS = Command(
    "log.hide-access", ("A",), "hide access lines", "Hide access lines, or show them.", "hide('access')"
)
HIDE_BATCH = Command(
    "log.hide-batch", ("B",), "hide batch lines", "Hide Prefill and Decode lines, or show them.", "hide('batch')"
)
NEXT_PROBLEM = Command(
    "log.next-problem", ("e",), "next problem", "Go to the next problem below.", "problem(False)", footer=62
)
PREVIOUS_PROBLEM = Command(
    "log.previous-problem", ("E",), "previous problem", "Go to the next problem above.", "problem(True)"
)
GO_TO = Command("log.go-to", ("t", "%"), "go to", "Go to a time, a percentage, or a line.", "ask('go')")
WRAP = Command("log.wrap", ("w",), "wrap", "Wrap long lines, or cut them.", "wrap")
PAUSE = Command("log.pause", ("=",), "pause", "Show nothing new, or go on.", "pause")
COPY = Command("log.copy", ("c",), "copy", "Copy the selected line, or those in view.", "copy")
PAGER = Command("log.pager", ("o",), "pager", "Open the log in $PAGER.", "pager")
EARLIER = Command("log.earlier", ("p",), "earlier launch", "Show the launch before.", "earlier")
PRESENT = Command("log.newest", ("P",), "newest launch", "Back to the newest launch.", "present")

LOG_TOOLS = (
    SEARCH,
    NEXT_MATCH,
    PREVIOUS_MATCH,
    FILTER,
    HIDE_ACCESS,
    HIDE_BATCH,
    NEXT_PROBLEM,
    PREVIOUS_PROBLEM,
    GO_TO,
    WRAP,
    PAUSE,
    COPY,
    PAGER,
)
LOG = (*LOG_TOOLS, EARLIER, PRESENT)
READING = (SEARCH, NEXT_MATCH, PREVIOUS_MATCH, FILTER, NEXT_PROBLEM, PREVIOUS_PROBLEM, GO_TO, COPY, PAGER)
"""What needs a log; how lines are shown can be said before there is one."""

GIVE_UP = Command("prompt.give-up", ("escape",), "give up", "Leave everything as it is.", "give_up", palette=False)
ANSWER = Command("prompt.answer", ("enter",), "answer", "Take what is typed.", "submit", palette=False, is_fixed=True)

PROMPT = (ANSWER, GIVE_UP)
