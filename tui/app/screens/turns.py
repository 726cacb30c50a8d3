"""Which panels take turns in one place, and how to see the ones that aren't seen."""

from __future__ import annotations

from tui.app.advice import Advice
from tui.app.commands.dashboard import GO_TO_BUDGET, GO_TO_FINDING, GO_TO_GPUS, GO_TO_LIVE, GO_TO_LOG
from tui.app.findings import Findings
from tui.app.glyphs import Glyphs
from tui.app.keys import Keys

LINES_FOR_BOTH = 30
"""With fewer, the log takes turns with finding and budget in one place."""

PANELS = ("gpus", "servers", "finding", "budget", "live", "log")
"""In the order of Tab."""

FACTS = ("finding", "budget", "live")
"""These share one place in any window."""

HIDEABLE = ("gpus", "facts", "log")
"""Places of panels that a person may do without; the servers are what all else is about."""

TAKING_TURNS = (*FACTS, "log")
WAYS = {"gpus": GO_TO_GPUS, "finding": GO_TO_FINDING, "budget": GO_TO_BUDGET, "live": GO_TO_LIVE, "log": GO_TO_LOG}


def place_of(panel: str) -> str:
    """Where a panel stands: its own place, or the one that it shares."""
    return "facts" if panel in FACTS else panel


def hint_words(
    panel: str, facts: str, findings: Findings, advice: Advice, glyphs: Glyphs, *, keys: Keys, is_low: bool
) -> str:
    """The keys of what has its place in turn with a panel.

    Args:
        panel: whose title it ends.
        facts: the one of them that is seen, or was when the log came before it.
        findings: of the selected server.
        advice: for it.
        glyphs: the signs of the screen.
        keys: in force.
        is_low: there is one place for all.
    """
    words = {"finding": findings.words, "budget": "budget", "live": advice.words, "log": "log"}
    worth = {"finding": findings.has_news, "budget": True, "live": advice.is_known}
    others = [one for one in FACTS if one != panel and worth[one]]
    if panel == "log":
        words |= {"finding": GO_TO_FINDING.label, "live": GO_TO_LIVE.label}  # there is less room
        others = [facts] if is_low else []
    elif is_low:
        others.append("log")
    ways = {one: keys.first(command) for one, command in WAYS.items()}
    return f" {glyphs.rule} ".join(f"{ways[one]}: {words[one]}" for one in others if ways[one])
