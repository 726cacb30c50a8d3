"""Failures on demand, for tests and demonstrations: `SGLTUI_SIM="fail=weight load, leak"`.

`fail=STAGE` and `hang=STAGE` take "distributed init", "weight load", "memory pool", "cuda graph" or "warmup";
`crash-after-ready` loses a scheduler soon after the ready line; `ignore-term` outlives SIGTERM; `leak` leaves the
memory behind, held by nobody.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

VARIABLE = "SGLTUI_SIM"


@dataclass(frozen=True, slots=True)
class Switches:
    """What shall go wrong."""

    fail: str | None = None
    hang: str | None = None
    crash_after_ready: bool = False
    ignore_term: bool = False
    leak: bool = False


def read_switches() -> Switches:
    """The switches of this process's environment; unknown words are ignored."""
    words = [word.strip() for word in os.environ.get(VARIABLE, "").split(",")]
    values = dict(word.split("=", 1) for word in words if "=" in word)
    return Switches(
        fail=values.get("fail"),
        hang=values.get("hang"),
        crash_after_ready="crash-after-ready" in words,
        ignore_term="ignore-term" in words,
        leak="leak" in words,
    )
