"""`sgltui ui`, the default, and `sgltui demo`."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, cast

from tui.cli.context import open_context
from tui.cli.early_core import EarlyCore
from tui.errors import ExitCode, UsageError
from tui.machine_file import ForeignProcess
from tui.paths import CONFIG_DIR_VARIABLE, SIMULATED_VARIABLE, STATE_DIR_VARIABLE, find_places
from tui.simulator.machine import create_machine, default_gpus

if TYPE_CHECKING:
    from tui.app.core import Core

_FIRST_LOOK_S = 0.2  # so long is waited for what is seen before the screen is made
_DRIVER_VARIABLE = "TEXTUAL_DRIVER"


def ui(options: argparse.Namespace) -> ExitCode:
    """Open the terminal UI over this machine, or over the one that `SGLTUI_SIMULATED` names."""
    in_browser = os.environ.get(_DRIVER_VARIABLE, "").endswith(":WebDriver")  # set by `sgltui web`
    if not in_browser and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("the UI needs a terminal", "for scripts there are `sgltui ps --json` and `sgltui logs -f`")
    context = open_context(options)
    read_only = getattr(options, "read_only", False)
    core = EarlyCore(context, adopts=not read_only)
    # Here and nowhere else in the command line: Textual takes 0.2 s to import.
    from tui.app import run  # noqa: PLC0415 - see above
    from tui.app.layout import LayoutFile  # noqa: PLC0415

    places, settings = context.places, context.settings
    status = run(
        cast("Core", core),  # it has a part of its methods by `__getattr__`
        settings,
        places.settings_file,
        LayoutFile(places.layout_file),
        first_look=lambda: None if in_browser else core.first_look(_FIRST_LOOK_S),
        read_only=read_only,
        ascii_only=getattr(options, "ascii", False) or settings.ascii,
        mouse=settings.mouse and not getattr(options, "no_mouse", False),
    )
    return ExitCode(status)


def demo(options: argparse.Namespace) -> ExitCode:
    """Open the UI over a simulated machine of its own; its state is kept apart from real launches."""
    directory = Path(os.environ.get(SIMULATED_VARIABLE) or find_places().state / "demo")
    bob = ForeignProcess(gpu=default_gpus()[1].uuid, pid=3321, user="bob", command="python train.py", mib=819)
    create_machine(directory, foreign=[bob])
    os.environ[SIMULATED_VARIABLE] = str(directory)
    for variable in (STATE_DIR_VARIABLE, CONFIG_DIR_VARIABLE):  # those are for real launches
        os.environ.pop(variable, None)
    return ui(options)
