"""Simulated time: every wait is scaled by the machine's pace."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass

PACE_VARIABLE = "SGLTUI_SIM_PACE"
_SHORTEST_TICK_S = 0.02


@dataclass(frozen=True, slots=True)
class Clock:
    """Waits that are real seconds times `pace`; a pace of 0 waits for nothing."""

    pace: float

    def pause(self, seconds: float) -> None:
        """Let simulated work take its time."""
        if self.pace > 0:
            time.sleep(seconds * self.pace)

    def tick(self, seconds: float) -> float:
        """The real length of a poll that repeats: never so short that it keeps a core busy."""
        return max(seconds * self.pace, _SHORTEST_TICK_S)


def make_clock(machine_pace: float) -> Clock:
    """A clock at the machine's pace, unless `SGLTUI_SIM_PACE` says otherwise."""
    return Clock(float(os.environ.get(PACE_VARIABLE) or machine_pace))
