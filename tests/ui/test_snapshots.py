"""A few pictures of the screen. Each says in a sentence what a person should see; look before accepting a change."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace
from textual.pilot import Pilot

from tests.support.budgets import FITS
from tests.support.fake_core import FakeCore, preset, story
from tests.support.screen import NARROW, STORY, until_shown
from tui.app.app import SgltuiApp
from tui.errors import RefusedError
from tui.observe import Snapshot

SnapCompare = Callable[..., bool]

LOG = """\
[2026-11-29 19:10:03] server_args=ServerArgs(model_path='meta-llama/Llama-3.1-8B-Instruct', port=30001)
[2026-11-29 19:10:41] Load weight begin. avail mem=94.30 GB
Loading safetensors checkpoint shards:  41% Completed | 12/29 [00:05<00:07,  2.31it/s]
"""


def _story(tmp_path: Path) -> Snapshot:
    snapshot = story(tmp_path)
    snapshot.instances[1].log_path.write_text(LOG)
    return snapshot


def _app(core: FakeCore) -> SgltuiApp:
    core.budget = FITS
    return SgltuiApp(core, where="gpu-box-7")


def test_dashboard_120x34(snap_compare: SnapCompare, tmp_path: Path) -> None:
    # Two bars with a blue A and an ochre B, a grey ? and x; llama8b selected and loading 12 of 29, one server
    # ready in green, one FAILED in red with its reason; its budget under a green FITS, a bar of eight letters and a
    # table of the same; the log of llama8b below; eight keys in the last line.
    async def ready(pilot: Pilot[None]) -> None:
        await until_shown(pilot, _as_app(pilot), "12/29 [00:05")
        await until_shown(pilot, _as_app(pilot), "FITS")

    assert snap_compare(_app(FakeCore(_story(tmp_path))), terminal_size=STORY, run_before=ready)


def test_dashboard_80x24_simulated(snap_compare: SnapCompare, tmp_path: Path) -> None:
    # The same in a small window: absolute GiB stay, power is gone, SIMULATED stands out in the first line, and
    # the reason of the failure ends with a whole word and an ellipsis. The log's title says the port, its stamps have
    # no date, and its cut lines end with an ellipsis.
    snapshot = _story(tmp_path)
    core = FakeCore(replace(snapshot, gpus=replace(snapshot.gpus, simulated=True)))

    async def ready(pilot: Pilot[None]) -> None:
        await pilot.press("3")
        await until_shown(pilot, _as_app(pilot), "12/29 [00:05")

    assert snap_compare(_app(core), terminal_size=NARROW, run_before=ready)


def test_refused_launch_80x24(snap_compare: SnapCompare, tmp_path: Path) -> None:
    # The form over a dimmed dashboard: the preset is marked, name, port and GPUs hold what was typed, the cursor
    # is still in the name, and below stands in red what was refused, with what to do about it, above the budget of
    # what would be launched; the keys of the dashboard are gone from the last line.
    core = FakeCore(_story(tmp_path), [preset(), preset("llama8b", evidence=None, description="8B, fp8")])
    core.refusal = RefusedError("port 30002 is taken by python3 (pid 4242)", "choose another port, or stop it")

    async def refuse(pilot: Pilot[None]) -> None:
        app = _as_app(pilot)
        await until_shown(pilot, app, "llama8b")
        await pilot.press("a")
        await until_shown(pilot, app, "Launch a server")
        await pilot.press("enter", "enter")
        await until_shown(pilot, app, "✗ port 30002 is taken")
        await until_shown(pilot, app, "FITS")

    assert snap_compare(_app(core), terminal_size=NARROW, run_before=refuse)


def _as_app(pilot: Pilot[None]) -> SgltuiApp:
    assert isinstance(pilot.app, SgltuiApp)
    return pilot.app
