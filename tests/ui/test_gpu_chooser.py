"""The GPUs of an adjusted launch: compared when typing has settled, planned when pointed at, taken with a letter."""

from __future__ import annotations

from tests.support.budgets import EXCEEDS, FITS
from tests.support.fake_core import FakeCore, Subject, gpu, instance
from tests.support.screen import NARROW, WIDE, running, screen_text, until, until_shown
from tui.app.core import Adjusted
from tui.app.screens.dashboard import Dashboard
from tui.budget.types import MemoryBudget
from tui.gpu import GpuReading
from tui.keeper.states import State
from tui.observe import Snapshot


def on_the_second(about: Subject) -> MemoryBudget:
    """It fits on GPU 1 only."""
    return FITS if isinstance(about, Adjusted) and about.gpus == "1" else EXCEEDS


def core_with(*gpus: int) -> FakeCore:
    """A core over one failed server."""
    one = instance("story", State.FAILED, pid=None)
    core = FakeCore(Snapshot(GpuReading(tuple(map(gpu, gpus))), (one,)))
    core.budget, core.words = on_the_second, ("--model-path", "m", "--mem-fraction-static", "0.8")
    return core


async def test_what_fits_where_is_told_and_a_letter_takes_it() -> None:
    core = core_with(0, 1)
    async with running(core, size=WIDE) as (app, pilot):
        await pilot.press("R")
        await until_shown(pilot, app, "GPU 0: doesn't fit · GPU 1: fits · GPUs 0,1 with TP 2: doesn't fit")
        await pilot.press("o")
        await until_shown(pilot, app, "b  GPU 1")
        assert "4.0 GiB short (pools)" in screen_text(app)
        await pilot.press("b")
        await until_shown(pilot, app, "FITS  173k tokens")
        await pilot.press("R")
        await until(pilot, lambda: core.relaunches, "the relaunch")
        assert core.relaunches[0].gpus == "1"
        await until(pilot, lambda: isinstance(app.screen, Dashboard), "the dashboard")


async def test_what_is_pointed_at_is_planned_and_escape_leaves_it() -> None:
    core = core_with(0, 1)
    async with running(core, size=NARROW) as (app, pilot):
        await pilot.press("R")
        await until(pilot, lambda: core.compared, "the comparison")
        await pilot.press("o")
        await until_shown(pilot, app, "b  GPU 1")
        await pilot.press("down", "down")
        await until_shown(pilot, app, "FITS  173k tokens")
        await pilot.press("escape")
        await until_shown(pilot, app, "DOESN'T FIT")
        assert "b  GPU 1" not in screen_text(app)


async def test_another_number_of_ranks_is_set_with_its_gpus() -> None:
    core = core_with(0, 1)
    async with running(core) as (app, pilot):
        await pilot.press("R")
        await until_shown(pilot, app, "with TP 2")
        await pilot.press("o")
        await until_shown(pilot, app, "c  GPUs 0,1 with TP 2")
        await pilot.press("c")
        await until_shown(pilot, app, "+ --tensor-parallel-size 2")
        assert "GPU 0,1" in screen_text(app)


async def test_one_gpu_is_no_choice_but_others_can_be_named() -> None:
    core = core_with(0)
    async with running(core) as (app, pilot):
        await pilot.press("R")
        await until_shown(pilot, app, "DOESN'T FIT")
        await pilot.press("o")
        await until_shown(pilot, app, "nothing to choose from yet")
        assert core.compared == []
        await pilot.press("1")
        await until_shown(pilot, app, "FITS  173k tokens")
        await pilot.press("enter")
        await until_shown(pilot, app, "SGLang 0.5.11 ── GPU 1")
