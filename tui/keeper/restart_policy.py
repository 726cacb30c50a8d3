"""Whether a failed server is launched again, as its preset asks; and when there is no point in it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tui.keeper.states import State
from tui.keeper.tail import read_tail

LONGEST_PAUSE_S = 300.0
_TAIL_BYTES = 1 << 20

# Lines of SGLang (0.5.6.post2 to 0.5.23) and of what it calls, after which the same command must fail again.
_RECURRING = (
    (rb"error: (?:unrecognized arguments|argument |the following arguments are required)", "its arguments are wrong"),
    (rb"Not enough memory\. Please try to increase --mem-fraction-static", "its memory budget doesn't work out"),
    (rb"Loaded weights leave no GPU memory|Not enough GPU memory for hybrid", "its memory budget doesn't work out"),
    # As an exception's own line: healthy starts warn of files that they can do without in the same words.
    (rb"^OSError: .{0,400}(?:is not a local folder|is not a valid model identifier)", "its model isn't there"),
    (rb"^OSError: .{0,400}(?:couldn't connect to|does not appear to have a file named)", "its model isn't there"),
    (rb"^OSError: (?:We couldn't connect to|Can't load the configuration of)", "its model isn't there"),
    (rb"Model architectures .{0,400} are not supported", "its model's architecture isn't supported"),
    (rb"Transformers does not recognize this architecture", "its model's architecture isn't supported"),
    (rb"No accelerator \(CUDA", "there is no GPU that it can use"),
)


@dataclass(frozen=True)
class Restart:
    """Whether to go on.

    Attributes:
        pause_s: how long to wait before the next attempt; None: there is none.
        words: what is put on record of it; None when no restart was ever asked for.
    """

    pause_s: float | None
    words: str | None


def decide(record: dict[str, Any], ended: dict[str, Any], log: Path) -> Restart:
    """From `launch.json`, `exit.json` and the log."""
    policy = record.get("restart")
    if policy is None or ended["state"] != State.FAILED.value or ended.get("asked") or ended.get("restart"):
        return Restart(None, None)
    why = "its command can't be run" if ended.get("unstarted") else recurring(log)
    if why is not None:
        return Restart(None, f"not restarted, since it would fail again: {why}")
    attempt = record.get("attempt", 1)
    if attempt > policy["limit"]:
        return Restart(None, f"not restarted any more after {policy['limit']} restarts")
    pause_s = min(policy["backoff_s"] * 2 ** (attempt - 1), LONGEST_PAUSE_S)
    return Restart(pause_s, f"restart {attempt} of {policy['limit']} in {pause_s:g} s")


def recurring(log: Path) -> str | None:
    """Why the same command must fail again, by the end of its log; None when it may well not."""
    text = read_tail(log, _TAIL_BYTES)
    return next((why for pattern, why in _RECURRING if re.search(pattern, text, re.MULTILINE)), None)
