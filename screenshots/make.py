"""Make the pictures of README from the real app: `make screenshots`, or `python screenshots/make.py NAME…`.

A simulated machine is made in a temporary folder, servers are launched on it as a person would launch them, and the
app draws what it sees. Everything shown is simulated, and the title line says so.
"""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from textual.pilot import Pilot

from tui.app.app import SgltuiApp
from tui.app.screens.dashboard import Dashboard
from tui.cli.context import Context
from tui.cli.core import LocalCore
from tui.errors import SgltuiError
from tui.gpu.open import open_reader
from tui.keeper.states import State
from tui.keeper.stop import StopRequest
from tui.launch.records import list_names
from tui.launch.stop import stop_launch
from tui.machine_file import ForeignProcess
from tui.observe import Observer
from tui.paths import Places
from tui.settings import load_settings
from tui.simulator.machine import Machine, create_machine, default_gpus

HERE = Path(__file__).parent
LIMIT_S = 60
STILL_S = 1.5  # longer than the app waits between two looks at the machine
UNDER_WAY = ("planning…", "reading…", "reading&#160;its&#160;log…", "reading&#160;presets…")  # as an SVG has blanks
# The seconds of a young server never come to rest, nor does what is named after the whole picture.
RESTLESS = re.compile(r"\d+&#160;s\b|terminal-\d+")
# What its operator typed: 48 requests are allowed, whose drafts' states take 27.5 GiB.
STORY = (
    "--mem-fraction-static 0.8 --mamba-scheduler-strategy extra_buffer --speculative-algorithm EAGLE "
    "--speculative-num-steps 3 --speculative-eagle-topk 1 --speculative-num-draft-tokens 4"
)


@dataclass(frozen=True)
class Picture:
    """One picture: its size, the keys that are pressed before, and how it is drawn."""

    size: tuple[int, int]
    keys: tuple[str, ...]
    theme: str = "sgltui-dark"
    ascii_only: bool = False


PICTURES = {
    "dashboard": Picture((120, 34), ("j",)),  # from the newest server to the one that is ready
    "dashboard-80x24": Picture((80, 24), ("j",)),
    "dashboard-light": Picture((120, 34), ("j",), theme="sgltui-light"),
    "dashboard-ascii": Picture((100, 30), ("j",), ascii_only=True),
    "explained": Picture((120, 40), ("G",)),
    "what-if-exceeds": Picture((120, 40), ("G", "R")),
    "what-if-fits": Picture((120, 40), ("G", "R", "1")),
    "log-search": Picture((120, 34), ("j", "l", "slash", *"avail mem", "enter", "equals_sign")),  # = holds it still
    "launch": Picture((120, 40), ("a", "end", "up")),
}


def main() -> None:
    """Write one SVG a picture."""
    with tempfile.TemporaryDirectory() as folder:
        bob = ForeignProcess(gpu=default_gpus()[1].uuid, pid=3321, user="bob", command="python train.py", mib=819)
        machine = create_machine(Path(folder), foreign=[bob], pace=0.1)
        places = Places(machine.directory / "state", machine.directory / "config", machine.directory)
        try:
            populate(machine, Observer(places, open_reader(places)))
            for name in sys.argv[1:] or PICTURES:
                asyncio.run(draw(places, name, PICTURES[name]))
        finally:
            for name in list_names(places):
                with suppress(SgltuiError):  # the failed one isn't running
                    stop_launch(places, name, StopRequest(kill=True))


def populate(machine: Machine, observer: Observer) -> None:
    """Three servers: one that is ready, one that loads, one that failed as the story's did."""
    launch(machine, "--model", "Qwen/Qwen3.6-27B", "--name", "qwen36-mtp", "--on", "1", "--force", "--", *STORY.split())
    wait_for(observer, "qwen36-mtp", lambda state: state is State.FAILED)
    launch(machine, "qwen36-27b-mtp", "--on", "0")
    wait_for(observer, "qwen36-27b-mtp", lambda state: state is State.READY)
    launch(machine, "qwen3-0.6b", "--on", "0", sim="hang=memory pool")
    wait_for(observer, "qwen3-0.6b", lambda state: state is State.LOADING)


def launch(machine: Machine, *words: str, sim: str = "") -> None:
    """`sgltui launch …` on the simulated machine."""
    environment = {**os.environ, **machine.environ(), "SGLTUI_SIM": sim}
    subprocess.run([sys.executable, "-m", "tui", "launch", *words], env=environment, check=True)


def wait_for(observer: Observer, name: str, fits: Callable[[State], bool]) -> None:
    """Until the server is in a state that fits."""
    deadline = time.monotonic() + LIMIT_S
    while not any(one.name == name and fits(one.state) for one in observer.observe().instances):
        if time.monotonic() > deadline:
            raise SystemExit(f"{name} didn't come so far within {LIMIT_S} s")
        time.sleep(0.1)


async def draw(places: Places, name: str, picture: Picture) -> None:
    """Open the app, press the keys, and save what it shows once it has come to rest."""
    core = LocalCore(Context(places, load_settings(places), open_reader(places)))
    app = SgltuiApp(core, where="gpu-box-7", ascii_only=picture.ascii_only)
    app.theme = picture.theme
    async with app.run_test(size=picture.size) as pilot:
        await settle(pilot, places)
        for key in picture.keys:
            await pilot.press("space" if key == " " else key)
            if key == "R":  # the next key needs the budget
                await settle(pilot, places)
        await settle(pilot, places)
        title = "sgltui, {}x{}, simulated data".format(*picture.size)
        (HERE / f"{name}.svg").write_text(app.export_screenshot(title=title))
    print(f"screenshots/{name}.svg")


async def settle(pilot: Pilot[None], places: Places) -> None:
    """Wait until all servers and a budget or finding are drawn, and nothing has moved for a while."""
    names, deadline, before = list_names(places), time.monotonic() + LIMIT_S, ""
    while True:
        await pilot.pause(STILL_S)
        picture = RESTLESS.sub("", pilot.app.export_screenshot())
        screen = pilot.app.screen
        shows_servers = isinstance(screen, Dashboard) and screen.zoomed is None
        has_all = not shows_servers or all(name in picture for name in names)
        is_there = has_all and not any(words in picture for words in UNDER_WAY)
        if is_there and picture == before:
            return
        before = picture
        if time.monotonic() > deadline:
            raise SystemExit(f"the screen didn't come to rest within {LIMIT_S} s")


if __name__ == "__main__":
    main()
