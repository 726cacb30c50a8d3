"""Named points in the life of a launch: where tests hit real processes, and what `docs/supervision.md` lists.

With `SGLTUI_STEPS=DIR` whoever passes the point NAME waits there as long as `DIR/NAME` exists, after having written its
pid to `DIR/NAME.reached`. Without the variable a point costs one look at a name.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

VARIABLE = "SGLTUI_STEPS"
_STEP_S = 0.01

# In order. The process that passes the point stands in front.
START_STEPS = (
    "launcher-recorded",  # the launch is on disk, nobody has it yet
    "keeper-attends",  # the keeper is on record, and has started nothing
    "keeper-spawned",  # the server's process waits for its go, and is on no record
    "keeper-recorded",  # it is on record, and still waits
    "keeper-started",  # the server runs
    "keeper-loading",  # it loads weights
    "keeper-ready",  # it has been proved ready
)
STOP_STEPS = (
    "asker-asks",  # the request is about to be left
    "keeper-asked",  # the request is taken, and nothing is on record of it
    "keeper-stopping",  # it is on record
    "keeper-drains",  # TERM has been sent
    "keeper-kills",  # members are about to be killed
    "keeper-watches",  # all are gone; memory and port are watched
    "keeper-reports",  # the report is made, and not written
    "keeper-ended",  # exit.json is written, state.json isn't
)
END_STEPS = (
    "keeper-sees-end",  # the server has ended by itself, and nothing is on record of it
    "keeper-cleans-up",  # its end is on record; what it left behind is looked for
)
EXPLAIN_STEPS = ("explainer-writes",)  # the diagnosis is made, and not written
RESTART_STEPS = (
    "keeper-pauses",  # a restart is promised on record, and waits for its time
    "keeper-restarts",  # the next launch is on record, attended, and has started nothing
)


def step(name: str) -> None:
    """Pass the point `name`."""
    folder = os.environ.get(VARIABLE)
    if folder:
        _wait(Path(folder) / name)


def _wait(barrier: Path) -> None:
    if barrier.exists():
        barrier.with_name(f"{barrier.name}.reached").write_text(str(os.getpid()))
    while barrier.exists():
        time.sleep(_STEP_S)
