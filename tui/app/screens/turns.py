"""Which panels take turns in one place, and how to see the ones that aren't seen."""

from __future__ import annotations

from tui.app.commands import FocusBudget, FocusFinding, FocusLog
from tui.app.findings import Findings
from tui.app.glyphs import Glyphs

LEAST_LINES = 16
LINES_FOR_BOTH = 30
"""With fewer, the log takes turns with finding and budget in one place."""

PANELS = ("gpus", "servers", "finding", "budget", "log")
"""In the order of Tab."""

FACTS = ("finding", "budget")
"""These share one place in any window."""

TAKING_TURNS = (*FACTS, "log")


def hint_words(panel: str, facts: str, findings: Findings, glyphs: Glyphs, *, is_low: bool) -> str:
    """The keys of what has its place in turn with a panel.

    Args:
        panel: whose title it ends.
        facts: the one of the two that is seen, or was when the log came before it.
        findings: of the selected server.
        glyphs: the signs of the screen.
        is_low: there is one place for all three.
    """
    keys = {
        "finding": f"{FocusFinding.keys[0]}: {findings.words}",
        "budget": f"{FocusBudget.keys[0]}: budget",
        "log": f"{FocusLog.keys[0]}: log",
    }
    others = [one for one in FACTS if one != panel and (one == "budget" or findings.has_news)]
    if panel == "log":
        keys["finding"] = f"{FocusFinding.keys[0]}: {FocusFinding.label}"  # there is less room
        others = [facts] if is_low else []
    elif is_low:
        others.append("log")
    return f" {glyphs.rule} ".join(keys[one] for one in others)
